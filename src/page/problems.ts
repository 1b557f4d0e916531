import { type Harm, worstFirst } from '../policy/reporting/harm.ts';
import { coverageProblems } from './coverage-problems.ts';
import type { DenialsOfComponent } from './decision-log.ts';
import { denialProblems } from './denial-problems.ts';
import { installationProblems, leaderProblems } from './installation-problems.ts';
import { nodeProblems } from './node-problems.ts';
import { policyProblems } from './policy-problems.ts';
import type { PageProblem } from './state.ts';
import type { LeaderView, ReplicaView } from './state-views.ts';
import type { UnrankedProblem } from './unranked-problem.ts';

/** How many nodes or DaemonSets a problem names. */
const MAX_NAMED = 3;

/**
 * All problems, the worst first.
 * @param denials of the last hour
 */
export function pageProblems(
  state: ReplicaView,
  leaderView: LeaderView | undefined,
  denials: readonly DenialsOfComponent[],
): PageProblem[] {
  const problems = [
    ...installationProblems(state),
    ...denialProblems(denials, state.mode),
    ...policyProblems(state, leaderView),
    ...(leaderView ? [...nodeProblems(leaderView.nodes), ...coverageProblems(leaderView, state.audit)] : []),
    ...leaderProblems(state),
  ];
  return worstFirst(
    problems,
    ({ harm }) => harm,
    ({ count = 0 }) => count,
  ).map(shown);
}

/** By the harm: whether something is wrong, needs attention, or ends by itself. */
const LEVELS: Readonly<Record<Harm, PageProblem['level']>> = {
  NodesWithoutDaemons: 'failed',
  NotReachable: 'failed',
  NotInForce: 'failed',
  Missing: 'failed',
  Conflict: 'attention',
  Stalled: 'attention',
  ComponentsDenied: 'attention',
  Reported: 'attention',
  Repairing: 'repairing',
};

function shown({ harm, text, place, names = [], nameAt = () => undefined, why, fix }: UnrankedProblem): PageProblem {
  const named = names.filter((name) => name !== '').slice(0, MAX_NAMED);
  return {
    harm,
    level: LEVELS[harm],
    text,
    ...(place ? { place } : {}),
    names: named.map((name) => {
      const at = nameAt(name);
      return { text: name, ...(at ? { place: at } : {}) };
    }),
    more: names.length - named.length,
    ...(why === undefined ? {} : { why }),
    ...(fix ? { fix } : {}),
  };
}
