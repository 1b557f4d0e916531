import type { ObjectReference, RecordedEvent } from '../cluster/events/event.ts';
import type { Entry } from '../cluster/watch/watch-cache.ts';
import type { Violation } from '../policy/decision.ts';
import { POLICY_API_VERSION } from '../policy/policy.ts';
import { atMost } from '../policy/text.ts';
import type { ClusterDaemonSet } from './cluster-objects.ts';
import type { RolloutStanding } from './rollout-watch.ts';

/** A DaemonSet that lacks tolerations, or that got some while it ran. */
export interface RunningDaemonSet {
  readonly entry: Entry<ClusterDaemonSet>;
  /** What it lacks. */
  readonly lacks: readonly Violation[];
  /** Whether it got some of that before: somebody has taken it out. */
  readonly putBack: boolean;
  /** Whether it was ever patched. */
  readonly patched: boolean;
  /** The annotations that a patch for what it lacks writes. */
  readonly record: Readonly<Record<string, string>>;
  /** All tolerations as they should be. */
  readonly tolerations: readonly object[];
  readonly standing: RolloutStanding;
}

/** Tolerations that one text lists. */
const MAX_SUBJECTS = 8;

export function titleOf({ entry }: RunningDaemonSet): string {
  return `DaemonSet ${entry.namespace}/${entry.name}`;
}

export function policiesOf({ lacks }: RunningDaemonSet): string[] {
  return [...new Set(lacks.map(({ policy }) => policy))];
}

/** What it lacks, by one policy or by all. */
export function listLacks({ lacks }: RunningDaemonSet, policy?: string): string {
  const subjects = lacks.filter((one) => policy === undefined || one.policy === policy).map(({ subject }) => subject);
  return atMost(MAX_SUBJECTS, [...new Set(subjects)]).join(', ');
}

/** For each of the policies, one Event on the DaemonSet and one on the policy. */
export function daemonSetEvents(
  daemonSet: RunningDaemonSet,
  policies: readonly string[],
  wording: Pick<RecordedEvent, 'type' | 'reason' | 'action'>,
  note: (policy: string) => string,
): RecordedEvent[] {
  const { namespace, name, uid } = daemonSet.entry;
  const regarding: ObjectReference = { apiVersion: 'apps/v1', kind: 'DaemonSet', namespace, name, uid };
  return policies.flatMap((policy) => [
    { ...wording, regarding, note: `TolerationPolicy ${policy}: ${note(policy)}` },
    {
      ...wording,
      regarding: { apiVersion: POLICY_API_VERSION, kind: 'TolerationPolicy', name: policy },
      note: `${titleOf(daemonSet)}: ${note(policy)}`,
    },
  ]);
}
