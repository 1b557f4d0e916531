/**
 * The level of a condition:
 * - `failed`: the policy is not in force.
 * - `problem`: taintkeeper does not do something that the policy declares, and the state does not end by itself.
 * - `attention`: the cluster differs from what the policy declares, and the policy itself is enforced.
 * - `quiet`: no action is needed.
 */
export type ConditionLevel = 'failed' | 'problem' | 'attention' | 'quiet';

/** What a reason of a condition means. */
export interface Reason {
  readonly meaning: string;
  /** What to do, as one sentence without its end. Absent if no action is needed. */
  readonly next?: string;
  /** The condition has its healthy status with this reason. */
  readonly healthy?: true;
  /** Absent if equal to those of the condition. */
  readonly level?: ConditionLevel;
  readonly word?: string;
  /** The check of doctor that reports it with more detail than the condition has. */
  readonly check?: 'contradictions' | 'node pools';
}

interface ConditionEntry {
  readonly meaning: string;
  /** When the status contains the condition, in words. */
  readonly present: string;
  /** The status that needs no action. */
  readonly healthy: 'True' | 'False';
  /** The level of each other status. */
  readonly level: ConditionLevel;
  /** The state of the policy, in a few words. */
  readonly word: string;
  readonly reasons: Readonly<Record<string, Reason>>;
}

const GRANT = 'grant the right as the message says';
const READ_MESSAGE = 'correct what the message names: the leader then tries again';
const READ_NODE_MESSAGE =
  'correct what the message names: the leader tries again within five minutes, or as soon as the node or a policy changes, and within ten if it was undone three times';

/** Why native policies are not in force. */
export const NATIVE_REASONS = {
  TypeChecking: {
    meaning: 'The API server warns that an expression does not fit the types of the objects.',
    next: 'report it: it is a fault of taintkeeper',
  },
  NothingNative: {
    meaning: 'Nothing of the policy can be expressed as a native policy.',
    next: 'remove what asks for native policies, or change the fields that the message names',
  },
  NotPermitted: { meaning: 'taintkeeper may not write native policies.', next: GRANT },
  LeftInForce: {
    meaning:
      'taintkeeper may no longer write native policies. Those that it wrote stay in force as last written, whatever changes in the policy.',
    next: 'grant the right once more, so that taintkeeper updates or removes them, or delete them: the message says how',
  },
  Unsupported: {
    meaning: 'The API server has no ValidatingAdmissionPolicy in version v1.',
    next: 'upgrade Kubernetes to 1.30 or newer, or remove what asks for native policies',
  },
  NotTranslated: {
    meaning: 'The API server could not evaluate the translation of the policy.',
    next: 'do what the message says: make the policy smaller, split it, or give it a shorter name',
  },
  NotOurs: {
    meaning: 'An object of the same name exists that taintkeeper did not create.',
    next: 'delete the object that the message names: taintkeeper creates its own within a minute',
  },
  Conflict: {
    meaning: 'Another writer changes the native policies. taintkeeper restores them, after pauses of up to a minute.',
    next: 'stop the writer, which managedFields of the object in the message names',
  },
  Refused: { meaning: 'The API server did not accept the native policies, or did not answer.', next: READ_MESSAGE },
  Forbidden: {
    meaning: 'The API server does not permit taintkeeper to write the native policies.',
    next: 'compare the ClusterRole with that of the manifests',
  },
} satisfies Record<string, Reason>;

export type NativeReason = keyof typeof NATIVE_REASONS;

/** Whether the native policies of a policy are in force. */
export type NativeCondition = { readonly message: string } & (
  | { readonly status: 'True'; readonly reason: 'InForce' }
  | { readonly status: 'False'; readonly reason: NativeReason }
);

/** Every condition of a policy, with all its reasons. doctor, explain, the page and docs/reference/conditions.md use it. */
export const CONDITIONS = {
  Ready: {
    meaning: 'The policy is valid and in force.',
    present: 'always',
    healthy: 'True',
    level: 'failed',
    word: 'not in force',
    reasons: {
      InForce: {
        healthy: true,
        meaning:
          'The policy is valid, and the webhook is registered for it. The native policies of a TolerationRestriction are in force.',
      },
      PoolLacksTaint: {
        healthy: true,
        meaning:
          'The policy is in force. The template of a node pool does not declare a taint with which its nodes come, or declares it in the wrong list. ' +
          'An autoscaler that reads the template plans nodes without the taint, or takes a startup taint for one that stays.',
        next: 'declare the taint in the template, as the message says',
        level: 'attention',
        word: 'in force, not declared',
        check: 'node pools',
      },
      ServiceNotReachable: {
        healthy: true,
        meaning:
          'The policy is in force. The webhook was registered although the pod of the leader, which is a ready endpoint of the Service, cannot reach the Service.',
        next: 'nothing, if taintkeeper doctor reports that the API server reaches the webhook',
      },
      PoolsNotPermitted: {
        healthy: true,
        meaning:
          'The policy is in force. taintkeeper may not read the node pools, to see whether they declare its taints.',
        next: GRANT,
      },
      Invalid: {
        meaning:
          'Fields of the policy cannot be used, and taintkeeper has seen no usable generation since it started: nothing of the policy is in force.',
        next: 'correct the fields that the message names',
      },
      EarlierInForce: {
        meaning:
          'Fields of the policy cannot be used. An earlier generation stays in force in the replicas that have seen it, until they restart.',
        next: 'correct the fields that the message names before taintkeeper restarts',
        level: 'problem',
        word: 'in force as it was',
      },
      NotRegistered: {
        meaning:
          'The API server does not call the webhook for the policy as it should: the webhook is not registered yet, or another writer has changed it.',
        next: READ_MESSAGE,
      },
      // For a TolerationRestriction, which has no effect without its native policies.
      ...NATIVE_REASONS,
    },
  },
  Stalled: {
    meaning: 'taintkeeper does not do something that the policy declares, and an action is needed.',
    present: 'while it is True',
    healthy: 'False',
    level: 'problem',
    word: 'stalled',
    reasons: {
      UnknownFields: {
        meaning:
          'The policy has fields that this version of taintkeeper does not know. They are ignored, so the policy may do more or less than intended.',
        next: 'run the version of taintkeeper that the CustomResourceDefinitions belong to, or remove the fields',
        word: 'in force, in part',
      },
      WebhookConflict: {
        meaning:
          'Another writer changes or deletes the webhook configurations again and again, so the webhook is at times not registered as the policy requires. Then the ' +
          'API server may not call it, or may call it with other settings, such as a shorter timeoutSeconds. The leader restores the configurations, after pauses of ' +
          'up to a minute. The condition remains until two minutes after the last repair, and `Ready` says what the API server has stored.',
        next:
          'stop the writer that the message names, or that managedFields of the configuration name; the audit log of the API server names a writer that deletes ' +
          'the configuration',
        word: 'in force, not always as declared',
      },
      NotPermitted: { meaning: 'The policy asks for something that taintkeeper may not do.', next: GRANT },
      NotListed: {
        meaning:
          'The leader has not been able to list the nodes, or the DaemonSets, with which the policy is compared, since it began to lead. It does not set or ' +
          'remove what depends on them, and the counts in the status are from before.',
        next: 'run taintkeeper doctor, which checks the rights; if none is missing, the message has the answer of the API server',
      },
      KeyLooksMisspelled: {
        meaning:
          'No node has the taint or the label of this key, or the condition or the resource of `readyWhen`, and nodes have one that is almost the same. ' +
          'Conditions and resources count only if a node of the policy is older than the progress deadline, and does not carry the startup taint.',
        next: 'correct the key in the policy, or add the taint or the label to a node; an agent on the nodes reports conditions and resources',
      },
      RequiredValuesDiffer: {
        meaning: 'Two policies require different values of one taint on the same nodes. The leader sets neither.',
        next: 'use one value in both policies, or let the nodeSelector of one leave out the nodes of the other',
        check: 'contradictions',
      },
      RepairRefused: {
        meaning: 'The API server refuses the updates that set missing taints, or another mutating webhook undoes them.',
        next: READ_NODE_MESSAGE,
      },
      TaintConflict: {
        meaning:
          'Another writer removes a taint each time that the leader sets it, or sets a startup taint each time that the leader removes it.',
        next: 'stop the writer that the message names, or remove the taint from the policy',
      },
      DaemonSetNotFound: {
        meaning: 'A DaemonSet of `readyWhen` does not exist, so new nodes wait with the startup taint.',
        next: 'create the DaemonSet, or correct its name in the policy',
      },
      DaemonSetUnreadable: {
        meaning:
          'The leader cannot read a DaemonSet of `readyWhen`, nearly always because it needs more than 64 KiB of memory, so new nodes wait with the startup taint.',
        next: 'make the DaemonSet smaller; the log of the leader says what is wrong with it',
      },
      DaemonSetDoesNotTolerate: {
        meaning:
          'A DaemonSet of `readyWhen` does not tolerate the startup taint that waits for it, or, on a node that waits, another taint that policies keep there. Startup taints may wait for each other like that. With `afterDeadline: Remove`, such a node is not named.',
        next: 'add the toleration to the DaemonSet, or keep the taint off the nodes of the policy',
      },
      DaemonSetSelectsNoNode: {
        meaning:
          'A DaemonSet of `readyWhen` selects none of the nodes that the policy selects, and one of them is older than the progress deadline and does not ' +
          'carry the startup taint. New nodes with the same labels wait with the taint.',
        next: 'correct nodeSelector of the policy, or the node selector or affinity of the DaemonSet',
      },
      TaintkeeperDoesNotTolerate: {
        meaning:
          'The pods of taintkeeper do not tolerate a startup taint. In a cluster of new nodes only, nothing removes it.',
        next: 'add the toleration to the Deployment of taintkeeper',
      },
      UnknownPart: {
        meaning:
          'A startup taint of the policy has a field that this version of taintkeeper does not know. The leader neither sets nor removes the taint.',
        next: 'run the version of taintkeeper that the CustomResourceDefinitions belong to, or remove the field',
      },
      StartupTaintProtected: {
        meaning: 'A policy protects a startup taint of another policy, by its exact key, so the taint stays.',
        next: 'leave the key out of the policy that the message names first',
      },
      StartupTaintRefused: {
        meaning:
          'The API server refuses to set or remove a startup taint on a node, or to record its reboot, or another mutating webhook undoes that.',
        next: READ_NODE_MESSAGE,
      },
      StartupTaintDeadlineExceeded: {
        meaning:
          'Nodes still wait after `progressDeadlineSeconds` of `readyWhen`. They keep the startup taint. The message says for what each waits. With `afterDeadline: Remove`, nodes do not stay in this state.',
        next:
          'find out why the parts that the message names are not ready on these nodes, for a DaemonSet with kubectl describe pod, or replace the nodes; ' +
          'a DaemonSet whose pods wait until the taint is removed belongs in allDaemonSets.except',
      },
      WouldEvictPods: {
        meaning:
          'Running nodes lack a NoExecute taint. taintkeeper sets it only when a node registers, because it would evict pods.',
        next: 'run the commands of the message when the pods of the nodes may end, or drain each node before and uncordon it afterwards',
      },
      TolerationMissing: {
        meaning:
          'A DaemonSet, or a part of its pods, lacks a toleration, which is not added. The message says why: another writer removes it, the pods of the ' +
          'DaemonSet are not available, its rollout makes no progress, the DaemonSet has more than 256 tolerations, or the API server refuses the patch or gives no answer.',
        next: 'correct what the message names, or annotate the DaemonSet with taintkeeper.dev/ignore=true',
      },
      PodFailsAgain: {
        meaning:
          'Pods that were deleted failed again at once, or so often that the budget of deletions is used up. They are left to the DaemonSet controller.',
        next: 'find out with kubectl describe pod why the pods fail',
      },
      RecoveryFailed: { meaning: 'The API server refuses to delete the pods.', next: READ_MESSAGE },
      PodsNotWatched: { meaning: 'The leader cannot watch Failed pods.', next: READ_MESSAGE },
      BackstopNotInForce: {
        meaning: 'The native policies of `backstop: Native` are not in force.',
        next: 'do what the message says',
      },
    },
  },
  Backstop: {
    meaning: 'The native policies of `backstop: Native` are in force.',
    present: 'with `backstop: Native`',
    healthy: 'True',
    // The condition Stalled reports the same.
    level: 'quiet',
    word: 'in force, without its backstop',
    reasons: {
      InForce: { healthy: true, meaning: 'Everything that can be expressed natively is in force.' },
      ...NATIVE_REASONS,
    },
  },
} as const satisfies Record<string, ConditionEntry>;

export type ConditionType = keyof typeof CONDITIONS;
export type StalledReason = keyof (typeof CONDITIONS)['Stalled']['reasons'];

/** The possible content of a condition of the type. */
export interface StateOf<T extends ConditionType> {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: Extract<keyof (typeof CONDITIONS)[T]['reasons'], string>;
  readonly message: string;
}

/** A condition, as a controller reports it. */
export type ReportedCondition = { [T in ConditionType]: { readonly type: T } & StateOf<T> }[ConditionType];

/** The condition of that type, or none. */
export function reported<T extends ConditionType>(type: T, state: StateOf<T> | undefined): ReportedCondition[] {
  return state ? [{ type, ...state } as unknown as ReportedCondition] : [];
}

/** Whether the condition says that the spec of the policy is unusable. */
export function saysUnusable({
  type,
  status,
  reason,
}: Readonly<Record<'type' | 'status' | 'reason', string>>): boolean {
  return type === 'Ready' && status === 'False' && (reason === 'Invalid' || reason === 'EarlierInForce');
}

/** The meaning of a condition for users. */
export interface Assessment {
  readonly level: ConditionLevel;
  /** The state of the policy, such as `stalled`. */
  readonly word: string;
  readonly next: string | undefined;
  /** The check of doctor that reports it with more detail. */
  readonly check: Reason['check'];
}

/** The meaning of the condition for users. A condition of a type that this version does not know is quiet. */
export function assessCondition({
  type,
  status,
  reason,
}: Readonly<Record<'type' | 'status' | 'reason', string>>): Assessment {
  const entry: ConditionEntry | undefined = Object.hasOwn(CONDITIONS, type)
    ? CONDITIONS[type as ConditionType]
    : undefined;
  const known = entry && Object.hasOwn(entry.reasons, reason) ? entry.reasons[reason] : undefined;
  const isHealthy = entry === undefined || status === entry.healthy;
  // A reason that does not belong to the status is ignored.
  const own = isHealthy && !known?.healthy ? undefined : known;
  return {
    level: own?.level ?? (isHealthy ? 'quiet' : entry.level),
    word: own?.word ?? entry?.word ?? '',
    next: own?.next,
    check: own?.check,
  };
}
