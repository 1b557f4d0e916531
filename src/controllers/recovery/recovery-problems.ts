import { groupsBy } from '../../collections/groups-by.ts';
import type { LeftBecause } from '../../recovery/recovery.ts';
import { atMost } from '../../text/counts.ts';
import type { ReportedProblem } from '../reports.ts';

/** Places that one message names. */
const MAX_PLACES = 5;
/** A problem ends after this time: a pod that fails repeatedly does not exist for a moment each time. */
const LINGER_MS = 5_000;

type Reason = Exclude<LeftBecause, 'Audit'> | 'RecoveryFailed';

interface Noted {
  readonly daemonSet: string;
  readonly node: string;
  readonly policy: string;
  /** The cause. */
  readonly reason: Reason;
  /** The error, for RecoveryFailed. */
  readonly detail: string;
  /** The time of the last check that found the problem. */
  readonly at: number;
  /** The time of the first check that did not find it any more. */
  goneAt: number | undefined;
}

/** The problems that prevent pods from being freed, by DaemonSet and node. */
export interface RecoveryProblems {
  /** @param now of the check, by performance.now() */
  note(problem: Omit<Noted, 'at' | 'goneAt' | 'detail'> & { readonly detail?: string }, now: number): void;
  /** Ends a check: problems that it did not note end soon. @returns in how many milliseconds to check again */
  endRun(daemonSet: string, now: number): number | undefined;
  /** The DaemonSets with problems. */
  daemonSets(): Iterable<string>;
  /** One problem for each policy and cause. */
  current(): readonly ReportedProblem[];
}

export function createRecoveryProblems(): RecoveryProblems {
  const byDaemonSet = new Map<string, Map<string, Noted>>();
  return {
    note({ detail = '', ...problem }, now) {
      const places = byDaemonSet.get(problem.daemonSet) ?? new Map<string, Noted>();
      byDaemonSet.set(problem.daemonSet, places);
      places.set(problem.node, { ...problem, detail, at: now, goneAt: undefined });
    },
    endRun(daemonSet, now) {
      const places = byDaemonSet.get(daemonSet);
      if (!places) return undefined;
      let next: number | undefined;
      for (const [node, noted] of places) {
        if (noted.at === now) continue;
        noted.goneAt ??= now;
        const leftMs = noted.goneAt + LINGER_MS - now;
        if (leftMs <= 0) places.delete(node);
        else next = Math.min(next ?? leftMs, leftMs);
      }
      if (places.size === 0) byDaemonSet.delete(daemonSet);
      return next;
    },
    daemonSets: () => byDaemonSet.keys(),
    current() {
      // In a fixed order: the first one gives the condition its reason, which must not change with other problems.
      const all = [...byDaemonSet.values()].flatMap((places) => [...places.values()]);
      const keyOf = ({ policy, reason }: Noted) => `${policy}/${reason}`;
      return sortedBy(([first]) => keyOf(first), groupsBy(sortedBy(placeOf, all), keyOf)).map(describe);
    },
  };
}

const REMEDY = "kubectl describe shows why it fails; meanwhile it is left to the DaemonSet controller's back-off";

const TEXTS: Record<Reason, string> = {
  PodFailsAgain: `pods that were freed failed again at once: ${REMEDY}`,
  RecoveryBudgetSpent: `pods fail again and again, and the budget is spent: ${REMEDY}`,
  RecoveryFailed: 'pods cannot be freed',
};

function describe(noted: readonly [Noted, ...Noted[]]): ReportedProblem {
  const [{ policy, reason, detail }] = noted;
  const places = atMost(MAX_PLACES, noted.map(placeOf));
  return {
    kind: 'RecoveryPolicy',
    policy,
    reason: reason === 'RecoveryFailed' ? reason : 'PodFailsAgain',
    message: `${TEXTS[reason]}${detail && ` (${detail})`}: ${places.join(', ')}`,
  };
}

function placeOf({ daemonSet, node }: Noted): string {
  return `DaemonSet ${daemonSet} on node ${node}`;
}

function sortedBy<T>(keyOf: (one: T) => string, all: readonly T[]): T[] {
  return all.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}
