import { describe, expect, it } from 'vitest';
import {
  boundedEvent,
  daemonSetReference,
  namespaceOf,
  nodeReference,
  printableWithin,
  type RecordedEvent,
  type ReviewedObject,
} from '../../../src/kubernetes/event.ts';

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

it('Events of a DaemonSet are in its namespace, and those of a node in the default one', () => {
  expect(daemonSet).toEqual({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    namespace: 'kube-system',
    name: 'cni',
    uid: 'u2',
  });
  expect(node).toEqual({ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1' });
  expect([daemonSet, node, { ...node, namespace: '' }].map(namespaceOf)).toEqual(['kube-system', 'default', 'default']);
});

describe('boundedEvent', () => {
  it.each<{ why: string; object: ReviewedObject; exists: boolean }>([
    { why: 'a node', object: node, exists: true },
    { why: 'a DaemonSet', object: daemonSet, exists: true },
    { why: 'the longest uid', object: { ...node, uid: 'u'.repeat(253) }, exists: true },
    { why: 'a longer uid', object: { ...node, uid: 'u'.repeat(254) }, exists: false },
    { why: 'a name that no node can have', object: { ...node, name: 'N 1' }, exists: false },
    { why: 'a namespace that cannot exist', object: { ...daemonSet, namespace: 'kube_system' }, exists: false },
  ])('of $why: $exists', ({ object, exists }) => {
    const events = [
      { ...event, regarding: object },
      { ...event, reviewed: object },
    ];
    expect(events.map(boundedEvent)).toEqual(exists ? events : [undefined, undefined]);
  });

  it('has a note of at most 1,024 bytes', () => {
    const note = 'é'.repeat(600);
    expect(boundedEvent({ ...event, note })).toEqual({ ...event, note: `${'é'.repeat(510)}...` });
    expect(boundedEvent({ ...event, note: 'é'.repeat(512) })?.note).toBe('é'.repeat(512));
  });
});

it.each([
  { text: '12345678', shown: '12345678' },
  { text: '123456789', shown: '12345...' },
  { text: 'é12345678', shown: 'é123...' },
  { text: '1234é678', shown: '1234...' },
  { text: 'a\nb', shown: 'a\\u{a}b' },
  { text: 'abcd\nefg', shown: 'abcd\\...' },
])('printableWithin eight bytes: $text', ({ text, shown }) => {
  expect(printableWithin(text, 8)).toBe(shown);
});
