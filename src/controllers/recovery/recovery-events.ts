import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { daemonSetReference } from '../../kubernetes/event.ts';
import { type EventPair, eventsOnBoth } from '../../policy/reporting/policy-events.ts';
import type { RecordedEvent } from '../../policy/reporting/recorded-event.ts';
import type { LeftBecause } from '../../recovery/recovery.ts';

export type RecoveryNews = 'Freed' | LeftBecause;

interface Wording {
  readonly type: RecordedEvent['type'];
  readonly reason: RecordedEvent['reason'];
  readonly action: string;
  readonly note: (pod: string) => string;
}

const WORDINGS: Record<RecoveryNews, Wording> = {
  Freed: normal('PodFreed', 'DeletePod', (pod) => `deleted ${pod}, which stayed Failed`),
  Audit: warning('PodStuck', (pod) => `in mode Audit, leaves alone ${pod}, which stays Failed`),
  PodFailsAgain: warning(
    'PodFailsAgain',
    (pod) => `leaves ${pod} to the DaemonSet controller's back-off: it was freed and failed again at once`,
  ),
  RecoveryBudgetSpent: warning(
    'PodFailsAgain',
    (pod) => `leaves ${pod} to the DaemonSet controller's back-off: the budget is spent`,
  ),
};

export interface RecoverySubject {
  readonly policy: string;
  readonly daemonSet: Pick<Entry<unknown>, 'namespace' | 'name' | 'uid'>;
  readonly node: string;
  /** `status.reason` of the pod. */
  readonly reason: string;
}

/** An Event on the DaemonSet and one on the policy. */
export function recoveryEvents(news: RecoveryNews, subject: RecoverySubject): EventPair {
  const policy = { kind: 'RecoveryPolicy', name: subject.policy } as const;
  return eventsOnBoth(daemonSetReference(subject.daemonSet), policy, WORDINGS[news], noteOf(news, subject));
}

export function recoveryMessage(news: RecoveryNews, subject: RecoverySubject): string {
  return `RecoveryPolicy ${subject.policy} ${noteOf(news, subject)}`;
}

/** Without the name of the pod, so that repeated notes are one Event: each new pod has another name. */
function noteOf(news: RecoveryNews, { node, reason }: RecoverySubject): string {
  return WORDINGS[news].note(`the pod on node ${node}${reason && ` (${reason})`}`);
}

function normal(reason: Wording['reason'], action: string, note: Wording['note']): Wording {
  return { type: 'Normal', reason, action, note };
}

function warning(reason: Wording['reason'], note: Wording['note']): Wording {
  return { type: 'Warning', reason, action: 'LeavePod', note };
}
