import { type Hold, paceOf } from '../../judge/eviction-pace.ts';
import type { Hindrance, Loss } from '../../judge/node-drift.ts';
import type { RestoredNatively } from '../../judge/restored-natively.ts';
import type { ObjectReference, RecordedEvent } from '../../kubernetes/event.ts';
import { formatTaint, type Taint } from '../../kubernetes/taint.ts';
import { POLICY_API_VERSION } from '../../policy/policy.ts';

const WHY_NOT: Record<Exclude<Hindrance, 'contested'>, (loss: Loss) => string> = {
  mode: ({ policy }) => `which mode ${policy.mode} does not put back`,
  eviction: () => 'which would evict pods: add it by hand, or set mayEvict in the policy',
  held: () => 'of which it carries another value that is protected as well',
  paced: () => 'which evicts pods, and waits for its turn',
};

const WHY_HELD: Record<Hold['reason'], string> = {
  PodsWithoutNode: 'pods that came since have no node to run on',
  ZoneNotReady: 'too many nodes of their zone are not ready',
  RateIsZero: 'the rate is 0 (serve --node-eviction-rate)',
};

/** What is to be said of a taint that is gone, as somebody had announced. */
export function eventOfRelease(node: ObjectReference, taint: Taint): RecordedEvent {
  const note = `taint ${formatTaint(taint)} is gone, as was announced`;
  return { regarding: node, type: 'Normal', reason: 'TaintReleased', action: 'ForgetTaint', note };
}

/** What is to be said of a taint that the API server put back by itself while taintkeeper was not asked, on the node and on the policy. */
export function eventsOfNative(node: ObjectReference, { policy: { name }, taint }: RestoredNatively): RecordedEvent[] {
  const note = `put back, by a native policy, taint ${formatTaint(taint)} while taintkeeper was not asked`;
  const policy = { apiVersion: POLICY_API_VERSION, kind: 'TaintPolicy', name };
  const common = { type: 'Normal', reason: 'TaintRestored', action: 'RestoreTaint' } as const;
  return [
    { regarding: node, ...common, note: `TaintPolicy ${name} ${note}` },
    { regarding: policy, ...common, note: `Node ${node.name}: ${note}` },
  ];
}

/** What is to be said of a policy whose taint evicts pods while nodes wait for it. */
export function eventOfEvictions(name: string, hold: Hold['reason'] | undefined, rate: number): RecordedEvent {
  const policy = { apiVersion: POLICY_API_VERSION, kind: 'TaintPolicy', name };
  const note = `nodes wait for a taint that evicts pods: ${hold ? WHY_HELD[hold] : paceOf(rate)}`;
  return hold
    ? { regarding: policy, type: 'Warning', reason: 'EvictionsHeld', action: 'WaitToEvict', note }
    : { regarding: policy, type: 'Normal', reason: 'EvictionsPaced', action: 'WaitToEvict', note };
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
