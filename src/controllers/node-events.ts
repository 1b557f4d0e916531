import type { ObjectReference, RecordedEvent } from '../cluster/events/event.ts';
import type { Hindrance, Loss } from '../policy/node-drift.ts';
import { POLICY_API_VERSION } from '../policy/policy.ts';
import { formatTaint, type Taint } from '../policy/taint.ts';

const WHY_NOT: Record<Exclude<Hindrance, 'contested'>, (loss: Loss) => string> = {
  mode: ({ policy }) => `which mode ${policy.mode} does not put back`,
  eviction: () => 'which would evict pods: add it by hand, or set mayEvict in the policy',
  held: () => 'of which it carries another value that is protected as well',
};

/** What is to be said of a taint that is gone, as somebody had announced. */
export function eventOfRelease(node: ObjectReference, taint: Taint): RecordedEvent {
  const note = `taint ${formatTaint(taint)} is gone, as was announced`;
  return { regarding: node, type: 'Normal', reason: 'TaintReleased', action: 'ForgetTaint', note };
}

/** What is to be said of a taint that was found missing, on the node and on the policy. */
export function eventsOfLoss(node: ObjectReference, loss: Loss, rival: string | undefined): RecordedEvent[] {
  const { type, reason, action, note } = saying(loss, formatTaint(loss.taint), rival);
  const policy = { apiVersion: POLICY_API_VERSION, kind: 'TaintPolicy', name: loss.policy.name };
  return [
    { regarding: node, type, reason, action, note: noteOfLoss(loss, rival) },
    { regarding: policy, type, reason, action, note: `Node ${node.name}: ${note}` },
  ];
}

/** The same in words, of a node that need not be named. */
export function noteOfLoss(loss: Loss, rival: string | undefined): string {
  return `TaintPolicy ${loss.policy.name} ${saying(loss, formatTaint(loss.taint), rival).note}`;
}

function saying(
  { hindrance, ...loss }: Loss,
  taint: string,
  rival: string | undefined,
): Omit<RecordedEvent, 'regarding'> {
  switch (hindrance) {
    case undefined:
      return { type: 'Normal', reason: 'TaintRestored', action: 'RestoreTaint', note: `put back taint ${taint}` };
    case 'contested': {
      const by = rival === undefined ? '' : `, last by ${rival}`;
      const note = `stops putting back taint ${taint} for a while: it is taken away each time${by}`;
      return { type: 'Warning', reason: 'TaintContested', action: 'LeaveTaint', note };
    }
    default: {
      const note = `finds missing taint ${taint}, ${WHY_NOT[hindrance]({ hindrance, ...loss })}`;
      return { type: 'Warning', reason: 'TaintMissing', action: 'LeaveTaint', note };
    }
  }
}
