import type { RecordedEvent } from '../cluster/events/event.ts';
import type { Entry } from '../cluster/watch/watch-cache.ts';
import { POLICY_API_VERSION } from '../policy/policy.ts';
import type { LeftBecause } from '../policy/recovery.ts';
import type { RecoveryStrategy } from '../policy/recovery-policy.ts';

/** What can be said of a pod that is stuck. */
export type RecoveryNews = RecoveryStrategy | LeftBecause;

interface Wording {
  readonly type: RecordedEvent['type'];
  readonly reason: string;
  readonly action: string;
  readonly note: (pod: string) => string;
}

const WORDINGS: Record<RecoveryNews, Wording> = {
  DeletePod: normal('PodFreed', 'DeletePod', (pod) => `deleted ${pod}, which stayed Failed`),
  RestartRollout: normal('RolloutRestarted', 'RestartRollout', (pod) => `restarted the rollout: ${pod} stayed Failed`),
  Audit: warning('PodStuck', (pod) => `in mode Audit, leaves alone ${pod}, which stays Failed`),
  PodFailsAgain: warning(
    'PodFailsAgain',
    (pod) => `leaves ${pod} to the DaemonSet controller's back-off: it was freed and failed again at once`,
  ),
  RecoveryBudgetSpent: warning(
    'RecoveryBudgetSpent',
    (pod) => `leaves ${pod} to the DaemonSet controller's back-off: the budget is spent`,
  ),
  RolloutInProgress: warning(
    'RolloutInProgress',
    (pod) => `leaves alone ${pod}, which stays Failed: a rollout is in progress, and another one would not help`,
  ),
};

export interface RecoverySubject {
  readonly policy: string;
  readonly daemonSet: Pick<Entry<unknown>, 'namespace' | 'name' | 'uid'>;
  readonly node: string;
  /** `status.reason` of the pod. */
  readonly reason: string;
}

/** What happened to a pod of the DaemonSet on the node: one Event on the DaemonSet and one on the policy. */
export function recoveryEvents(news: RecoveryNews, subject: RecoverySubject): RecordedEvent[] {
  const { type, reason, action } = WORDINGS[news];
  const { policy, daemonSet } = subject;
  const { namespace, name, uid } = daemonSet;
  return [
    {
      regarding: { apiVersion: 'apps/v1', kind: 'DaemonSet', namespace, name, uid },
      ...{ type, reason, action },
      note: recoveryMessage(news, subject),
    },
    {
      regarding: { apiVersion: POLICY_API_VERSION, kind: 'RecoveryPolicy', name: policy },
      ...{ type, reason, action },
      note: `DaemonSet ${namespace}/${name}: ${said(news, subject)}`,
    },
  ];
}

/** The same in one sentence. */
export function recoveryMessage(news: RecoveryNews, subject: RecoverySubject): string {
  return `RecoveryPolicy ${subject.policy} ${said(news, subject)}`;
}

/** Without the pod's own name: each has another one, and what is done again and again is to be one Event. */
function said(news: RecoveryNews, { node, reason }: RecoverySubject): string {
  return WORDINGS[news].note(`the pod on node ${node}${reason && ` (${reason})`}`);
}

function normal(reason: string, action: string, note: Wording['note']): Wording {
  return { type: 'Normal', reason, action, note };
}

function warning(reason: string, note: Wording['note']): Wording {
  return { type: 'Warning', reason, action: 'LeavePod', note };
}
