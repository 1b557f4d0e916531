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
    meaning:
      'A protected taint was removed: the policy acts in mode Audit or exempts the user, or the allow-removal annotation allowed it.',
  },
  TaintRestored: {
    on: NODE_AND_POLICY,
    meaning: 'A taint was restored in the request that removed it.',
  },
  TaintAdded: {
    on: NODE_AND_POLICY,
    meaning:
      'A taint of `ensure` was set, in a request or later by the leader, also after a reboot. A startup taint that the leader sets has it on the Node only.',
  },
  TaintMissing: {
    on: NODE_AND_POLICY,
    meaning:
      'A node lacks a taint of the policy, or carries it with another value, and the taint is not set. The note says why.',
  },
  TaintConflict: {
    on: NODE_AND_POLICY,
    meaning:
      'Another writer removes a taint repeatedly, or sets a startup taint that the leader removes; or the boot ID of a node changes repeatedly. The leader leaves the taint alone for some minutes.',
  },
  RemovalAnnotationExpired: {
    on: 'Node',
    meaning:
      'A node carried a taint and its entry in the allow-removal annotation for an hour, and the leader deleted the entry.',
  },
  StartupTaintRemoved: {
    on: 'Node',
    meaning:
      'The leader removed the startup taint: `readyWhen` holds on the node, the deadline has passed (`afterDeadline: Remove`), or no policy has the taint on it any more.',
  },
  StartupTaintRemains: {
    on: 'Node',
    meaning:
      'A startup taint is still on a node after `progressDeadlineSeconds`, and the note says for what the node waits. Or a taint that ' +
      'the leader does not remove (a known key, or one that a policy sets at registration) has been on a Ready node for more than 15 minutes.',
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
    meaning:
      'A DaemonSet, or a part of its pods, lacks a toleration of the policy, and the toleration is not added. The note says why.',
  },
  PodFreed: { on: DAEMON_SET_AND_RECOVERY, meaning: 'The leader deleted a daemon pod that stayed Failed.' },
  PodStuck: {
    on: DAEMON_SET_AND_RECOVERY,
    meaning: 'A daemon pod stays Failed, and the policy acts in mode Audit.',
  },
  PodFailsAgain: {
    on: DAEMON_SET_AND_RECOVERY,
    meaning:
      'A daemon pod failed again at once after its deletion, or the budget of deletions is used up. The pod is left to the DaemonSet controller.',
  },
} as const satisfies Readonly<Record<string, EventMeaning>>;

export type EventReason = keyof typeof EVENT_REASONS;
