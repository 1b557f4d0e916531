import { atMost, shellWord } from '../kubernetes/text.ts';
import type { Refusals } from './decision-log.ts';
import { count, nodeAt, problemsOfCauses, type Registered, type UnrankedProblem } from './unranked-problem.ts';

/**
 * Requests of components that policies deny. If there are too many components, each origin of reviews has equally many of them: a pod that forges reviews
 * displaces only its own.
 */
export function refusalProblems(refusals: readonly Refusals[], mode: Registered['mode']): UnrankedProblem[] {
  const byCount = refusals.toSorted((a, b) => b.count - a.count);
  const byOrigin = Map.groupBy(
    byCount.flatMap((ofComponent) => ofComponent.origins.map((origin) => ({ origin, ofComponent }))),
    ({ origin }) => origin,
  );
  const places = new Map<Refusals, number>();
  for (const ofOrigin of byOrigin.values()) {
    for (const [index, { ofComponent }] of ofOrigin.entries()) {
      places.set(ofComponent, Math.min(index, places.get(ofComponent) ?? index));
    }
  }
  const fair = byCount.toSorted((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
  return problemsOfCauses(
    fair,
    (ofComponent) => refusalProblem(ofComponent, mode),
    (further) => ({
      harm: 'ComponentsDenied',
      text: `Requests of ${count(further.length, 'more component')} were denied in the last hour`,
      place: { tab: 'decisions', filters: { show: 'denied' } },
    }),
  );
}

/** How many origins a problem names. */
const MAX_ORIGINS = 3;

function refusalProblem(
  { user, count: times, policies, objects, origins }: Refusals,
  mode: Registered['mode'],
): UnrankedProblem {
  const [policy] = policies;
  return {
    harm: 'ComponentsDenied',
    count: times,
    text: `${count(times, 'request')} of ${user} ${times === 1 ? 'was' : 'were'} denied in the last hour`,
    place: { tab: 'decisions', filters: { q: user, show: 'denied' } },
    names: objects,
    ...(mode === 'cluster' ? { nameAt: nodeAt } : {}),
    why: `denied by TaintPolicy ${policies.join(', ')}, in reviews from ${atMost(MAX_ORIGINS, origins).join(', ')}; a component repeats what is denied`,
    ...(policy === undefined
      ? {}
      : {
          fix: {
            command: `kubectl edit taintpolicy ${shellWord(policy)}`,
            note: "Look for the request in the API server's audit log first: a pod that reaches port 8443 can forge the review. If the request is real and may remove the taint, add its user to spec.exempt.users. Otherwise, correct the component.",
          },
        }),
  };
}
