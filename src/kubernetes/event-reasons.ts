/** What an Event of taintkeeper means. */
interface EventMeaning {
  /** The objects that the Event is about. */
  readonly on: string;
  /** A sentence. */
  readonly meaning: string;
}

const NODE_AND_POLICY = 'Node, TaintPolicy';
const DAEMON_SET_AND_POLICY = 'DaemonSet, TolerationPolicy';
const DAEMON_SET_AND_RECOVERY = 'DaemonSet, RecoveryPolicy';

/** Every reason of an Event that taintkeeper writes. docs/reference/events.md is generated from it. */
export const EVENT_REASONS = {
  TaintRemovalDenied: { on: NODE_AND_POLICY, meaning: 'A request to remove a protected taint was refused.' },
  TaintRemoved: {
    on: NODE_AND_POLICY,
    meaning: 'A protected taint was removed: the policy acts in mode Audit, or exempts the user.',
  },
  TaintRestored: {
    on: NODE_AND_POLICY,
    meaning: 'A taint was restored in the request that removed it.',
  },
  TaintAdded: {
    on: NODE_AND_POLICY,
    meaning: 'A taint of `ensure` was set, in a request or later by the leader.',
  },
  TaintMissing: {
    on: NODE_AND_POLICY,
    meaning: 'A node lacks a taint of the policy, and the taint is not set. The note says why.',
  },
  TaintValueDiffers: {
    on: NODE_AND_POLICY,
    meaning:
      'A node carries a taint of the policy with another value, and the value is not changed. The note says why.',
  },
  TaintConflict: {
    on: NODE_AND_POLICY,
    meaning: 'Another writer removes a taint repeatedly. The leader stops setting it for some minutes.',
  },
  TaintRemovalAllowed: { on: NODE_AND_POLICY, meaning: 'The allow-removal annotation allowed the removal of a taint.' },
  RemovalAnnotationExpired: {
    on: 'Node',
    meaning:
      'A node carried a taint and its entry in the allow-removal annotation for an hour, and the leader deleted the entry.',
  },
  StartupTaintAdded: { on: 'Node', meaning: 'The leader set a startup taint on a node that registered without it.' },
  StartupTaintRemoved: {
    on: 'Node',
    meaning:
      'The leader removed the startup taint: `readyWhen` holds on the node, or no policy has the taint on it any more.',
  },
  StartupTaintDeadlineExceeded: {
    on: 'Node',
    meaning: 'A node still waits after `progressDeadlineSeconds`. The note says for what. The taint stays.',
  },
  StartupTaintRemains: {
    on: 'Node',
    meaning:
      'A startup taint (a known key, or one that a policy sets at registration) has been on a Ready node for more than 15 minutes.',
  },
  PoolLacksTaint: {
    on: 'NodePool, TaintPolicy',
    meaning:
      'A node pool of an autoscaler does not declare a taint that the policy sets, or a startup taint that one of its nodes carried.',
  },
  TolerationAdded: {
    on: DAEMON_SET_AND_POLICY,
    meaning: 'A toleration was added to a DaemonSet, in a request or later by the leader.',
  },
  TolerationMissing: {
    on: DAEMON_SET_AND_POLICY,
    meaning: 'A DaemonSet lacks a toleration of the policy, and it was not added.',
  },
  RolloutStalled: {
    on: DAEMON_SET_AND_POLICY,
    meaning: 'A DaemonSet that was patched has not replaced all pods for ten minutes. No other one is patched.',
  },
  PutBack: {
    on: DAEMON_SET_AND_POLICY,
    meaning: 'Another writer removed an added toleration. It is not added again.',
  },
  NotHealthy: {
    on: DAEMON_SET_AND_POLICY,
    meaning: 'A DaemonSet lacks a toleration, and is not patched while its pods are not all available.',
  },
  PatchRefused: { on: DAEMON_SET_AND_POLICY, meaning: 'The API server refuses to add the toleration.' },
  PodFreed: { on: DAEMON_SET_AND_RECOVERY, meaning: 'The leader deleted a daemon pod that stayed Failed.' },
  PodStuck: {
    on: DAEMON_SET_AND_RECOVERY,
    meaning: 'A daemon pod stays Failed, and the policy acts in mode Audit.',
  },
  PodFailsAgain: {
    on: DAEMON_SET_AND_RECOVERY,
    meaning: 'A daemon pod failed again at once after its deletion, and is left to the DaemonSet controller.',
  },
  RecoveryBudgetSpent: {
    on: DAEMON_SET_AND_RECOVERY,
    meaning: 'The budget of deletions is spent, and the pod is left to the DaemonSet controller.',
  },
} as const satisfies Readonly<Record<string, EventMeaning>>;

export type EventReason = keyof typeof EVENT_REASONS;
