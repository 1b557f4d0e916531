import type { ClusterDaemonSet } from '../../cluster/objects/cluster-objects.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { listSubjects, type Violation } from '../../judge/violation.ts';
import { daemonSetReference } from '../../kubernetes/event.ts';
import { eventsOnBoth } from '../../policy/reporting/policy-events.ts';
import type { RecordedEvent } from '../../policy/reporting/recorded-event.ts';
import type { RolloutStatus } from './rollout-watch.ts';

/** A DaemonSet that lacks tolerations, or that was patched. */
export interface RunningDaemonSet {
  readonly entry: Entry<ClusterDaemonSet>;
  /** The missing tolerations. */
  readonly missing: readonly Violation[];
  /** Whether another writer removed one of them after taintkeeper had added it. */
  readonly isUndone: boolean;
  /** Whether it has so many tolerations that none is added. */
  readonly tooManyTolerations: boolean;
  /** Whether taintkeeper has ever patched it. */
  readonly patched: boolean;
  /** The annotations of a patch that adds the missing tolerations. */
  readonly annotations: Readonly<Record<string, string>>;
  /** The desired list of tolerations. */
  readonly tolerations: readonly object[];
  readonly rollout: RolloutStatus;
}

export function titleOf({ entry }: RunningDaemonSet): string {
  return `DaemonSet ${entry.namespace}/${entry.name}`;
}

export function policiesOf({ missing }: RunningDaemonSet): string[] {
  return [...new Set(missing.map(({ policy }) => policy))];
}

/** The tolerations that are missing for one policy, or for all. */
export function listMissing({ missing }: RunningDaemonSet, policy?: string): string {
  return listSubjects(missing.filter((one) => policy === undefined || one.policy === policy));
}

/** An Event on the DaemonSet and one on the policy, for each policy. */
export function daemonSetEvents(
  daemonSet: RunningDaemonSet,
  policies: readonly string[],
  wording: Pick<RecordedEvent, 'type' | 'reason' | 'action'>,
  note: (policy: string) => string,
): RecordedEvent[] {
  const regarding = daemonSetReference(daemonSet.entry);
  return policies.flatMap((name) => {
    const text = note(name);
    return eventsOnBoth(
      regarding,
      { kind: 'TolerationPolicy', name },
      wording,
      text,
      `TolerationPolicy ${name}: ${text}`,
    );
  });
}
