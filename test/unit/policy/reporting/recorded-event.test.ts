import { expect, it } from 'vitest';
import { daemonSetReference, nodeReference } from '../../../../src/kubernetes/event.ts';
import {
  boundedEvent,
  type RecordedEvent,
  type ReviewedObject,
} from '../../../../src/policy/reporting/recorded-event.ts';

const node: ReviewedObject = { ...nodeReference({ name: 'n1', uid: 'u1' }), uid: 'u1' };
const daemonSet: ReviewedObject = {
  ...daemonSetReference({ namespace: 'kube-system', name: 'cni', uid: 'u2' }),
  uid: 'u2',
};
const event: RecordedEvent = {
  regarding: node,
  type: 'Normal',
  reason: 'TaintRestored',
  action: 'Restore',
  note: 'restored',
};

it.each<{ why: string; object: ReviewedObject; exists: boolean }>([
  { why: 'a node', object: node, exists: true },
  { why: 'a DaemonSet', object: daemonSet, exists: true },
  { why: 'the longest uid', object: { ...node, uid: 'u'.repeat(253) }, exists: true },
  { why: 'a longer uid', object: { ...node, uid: 'u'.repeat(254) }, exists: false },
  { why: 'a name that no node can have', object: { ...node, name: 'N 1' }, exists: false },
  { why: 'a namespace that cannot exist', object: { ...daemonSet, namespace: 'kube_system' }, exists: false },
])('an Event of $why: $exists', ({ object, exists }) => {
  const events = [
    { ...event, regarding: object },
    { ...event, reviewed: object },
  ];
  expect(events.map(boundedEvent)).toEqual(exists ? events : [undefined, undefined]);
});

it('the note of an Event has at most 1,024 bytes', () => {
  const note = 'é'.repeat(600);
  expect(boundedEvent({ ...event, note })).toEqual({ ...event, note: `${'é'.repeat(510)}...` });
  expect(boundedEvent({ ...event, note: 'é'.repeat(512) })?.note).toBe('é'.repeat(512));
});
