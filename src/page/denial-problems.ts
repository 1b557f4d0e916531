import { DEFAULT_PORTS } from '../server/default-ports.ts';
import { atMost, groupedCount } from '../text/counts.ts';
import { shellWord } from '../text/printable.ts';
import type { DenialsOfComponent } from './decision-log.ts';
import { nodeAt } from './places.ts';
import type { ReplicaView } from './state-views.ts';
import { problemsOfCauses, type UnrankedProblem } from './unranked-problem.ts';

/**
 * Requests of components that policies deny. If there are too many components, each origin of reviews has equally many of them: a pod that forges reviews
 * displaces only its own.
 */
export function denialProblems(denials: readonly DenialsOfComponent[], mode: ReplicaView['mode']): UnrankedProblem[] {
  const byCount = denials.toSorted((a, b) => b.count - a.count);
  const ranked = new Map<string, number>();
  const components = byCount.map((ofComponent) => {
    const { origins } = ofComponent;
    // The origin where the component ranks highest decides, so that no other origin can displace it.
    const rank = Math.min(...origins.map((origin) => ranked.get(origin) ?? 0));
    for (const origin of origins) ranked.set(origin, (ranked.get(origin) ?? 0) + 1);
    return { ofComponent, rank };
  });
  return problemsOfCauses(
    components.toSorted((a, b) => a.rank - b.rank),
    ({ ofComponent }) => denialProblem(ofComponent, mode),
    (further) => ({
      harm: 'ComponentsDenied',
      text: `Requests of at least ${groupedCount(further.length, 'more component')} were denied in the last hour`,
      place: { tab: 'decisions', filters: { show: 'denied' } },
    }),
  );
}

/** How many origins a problem names. */
const MAX_ORIGINS = 3;

function denialProblem(
  { user, count: times, policies, objects, origins }: DenialsOfComponent,
  mode: ReplicaView['mode'],
): UnrankedProblem {
  const [policy] = policies;
  return {
    harm: 'ComponentsDenied',
    count: times,
    text: `At least ${groupedCount(times, 'request')} of ${user} ${times === 1 ? 'was' : 'were'} denied in the last hour`,
    place: { tab: 'decisions', filters: { q: user, show: 'denied' } },
    names: objects,
    ...(mode === 'cluster' ? { nameAt: nodeAt } : {}),
    why: `denied by TaintPolicy ${policies.join(', ')}, in reviews from ${atMost(MAX_ORIGINS, origins).join(', ')}; a component repeats what is denied`,
    ...(policy === undefined
      ? {}
      : {
          fix: {
            command: `kubectl edit taintpolicy ${shellWord(policy)}`,
            note: `Look for the request in the API server's audit log first: a pod that reaches port ${DEFAULT_PORTS.webhook} can forge the review. If the request is real and may remove the taint, add its user to spec.exempt.users. Otherwise, correct the component.`,
          },
        }),
  };
}
