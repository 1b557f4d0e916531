import { type NodeRecord, type RecordedState, type RecordedTaint, withRecord } from '../../../src/judge/node-record.ts';
import { parseTaint } from '../../../src/kubernetes/taint.ts';

/** The taints of a text such as `a=b:NoSchedule, c:NoExecute`, as records list them. */
export function recordedTaints(text = '', more: Partial<RecordedTaint> = {}): RecordedTaint[] {
  return text.split(',').flatMap((one) => {
    const taint = parseTaint(one.trim());
    return taint ? [{ ...taint, value: taint.value ?? '', policies: [], ...more }] : [];
  });
}

/** A record of the Node with the uid `u1` that lists these taints. */
export function recordListing(text: string | undefined, uid = 'u1'): NodeRecord {
  return { uid, machine: { systemUUID: '', providerID: '' }, taints: recordedTaints(text) };
}

/** The node, with a record that lists these taints, those as removed with permission, and those as carried by an earlier Node of that name. */
export function withRecorded<Node extends object>(
  node: Node,
  text: string | undefined,
  removed?: string,
  earlier?: string,
): Node & RecordedState {
  const taints = [
    ...recordedTaints(text),
    ...recordedTaints(removed, { removedAt: 0 }),
    ...recordedTaints(earlier, { earlierDeletedAt: 0 }),
  ];
  return withRecord(node, { ...recordListing(undefined), taints }, 'u1');
}
