import { expect, it } from 'vitest';
import { leftOnDaemonSet, leftOnNode } from '../../../src/judge/left-behind.ts';

const MASTER = { key: 'master', operator: 'Exists', effect: 'NoSchedule' };
const GPU = { key: 'gpu', operator: 'Equal', value: 'a100', effect: 'NoExecute' };
const OWN = { key: 'own', operator: 'Exists' };
const ADDED = 'taintkeeper.dev/tolerations-added';

it('on a node: the annotation allow-removal, and no annotations of others', () => {
  const ours = { 'taintkeeper.dev/allow-removal': 'dedicated:NoSchedule' };
  const { annotations, tolerationIndexes } = leftOnNode({
    ...ours,
    'example.com/a': 'b',
    'taintkeeper.dev/ignore': 'true',
  });

  expect(Object.fromEntries(annotations.map(({ name, value }) => [name, value]))).toEqual(ours);
  expect(tolerationIndexes).toEqual([]);
  expect(leftOnNode({ 'example.com/a': 'b' })).toEqual({ annotations: [], tolerationIndexes: [] });
});

it.each([
  { why: 'nothing was added', record: undefined, tolerations: [MASTER], indexes: [] },
  { why: 'one was', record: 'master:NoSchedule', tolerations: [OWN, MASTER], indexes: [1] },
  { why: 'one was, and it has no other', record: 'master:NoSchedule', tolerations: [MASTER], indexes: [0] },
  {
    why: 'two were',
    record: 'gpu=a100:NoExecute, master:NoSchedule',
    tolerations: [OWN, MASTER, GPU],
    indexes: [1, 2],
  },
  { why: 'a user has removed it', record: 'master:NoSchedule', tolerations: [OWN, GPU], indexes: [] },
  { why: 'the owner has one like it', record: 'master:NoSchedule', tolerations: [MASTER, OWN, MASTER], indexes: [2] },
  { why: 'it is named twice', record: 'own, own', tolerations: [OWN, OWN], indexes: [1] },
  { why: 'the record cannot be read', record: ',;,', tolerations: [OWN], indexes: [] },
])('on a DaemonSet, when $why', ({ record, tolerations, indexes }) => {
  const annotations = record === undefined ? {} : { [ADDED]: record };

  expect(leftOnDaemonSet(annotations, tolerations)).toEqual({
    annotations: Object.entries(annotations).map(([name, value]) => ({ name, value })),
    tolerationIndexes: indexes,
  });
});
