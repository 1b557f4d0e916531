import { describe, expect, it } from 'vitest';
import { cleaningPatch } from '../../../src/cleanup/cleaning-patch.ts';
import { readDaemonSet } from '../../../src/cleanup/leftover.ts';
import { appliedWith, PATCHED } from './managed-fields.ts';

const OWN = { key: 'example.com/own', operator: 'Exists' };
const MASTER = { key: 'master', operator: 'Exists', effect: 'NoSchedule' };
const GPU = { key: 'gpu', operator: 'Exists', effect: 'NoSchedule' };
const ADDED = 'taintkeeper.dev/tolerations-added';
const ADDED_POINTER = '/metadata/annotations/taintkeeper.dev~1tolerations-added';
const TOLERATIONS = '/spec/template/spec/tolerations';

const leftOn = (tolerations: readonly object[], added: string) =>
  readDaemonSet({
    metadata: {
      namespace: 'net',
      name: 'a',
      uid: 'u',
      resourceVersion: '7',
      annotations: { [ADDED]: added, ...appliedWith() },
      managedFields: PATCHED,
    },
    spec: { selector: {}, template: { spec: { tolerations } } },
  });

const annotationRemoval = (value: string) => [
  { op: 'test', path: ADDED_POINTER, value },
  { op: 'remove', path: ADDED_POINTER },
];

describe('the patch of a DaemonSet', () => {
  it('removes the added tolerations from the end, if the DaemonSet is still as it was read', () => {
    const added = 'master:NoSchedule,gpu:NoSchedule';
    const tolerations = [MASTER, OWN, GPU];
    expect(cleaningPatch(leftOn(tolerations, added), true)).toEqual([
      { op: 'test', path: '/metadata/resourceVersion', value: '7' },
      ...annotationRemoval(added),
      { op: 'remove', path: `${TOLERATIONS}/2` },
      { op: 'remove', path: `${TOLERATIONS}/0` },
    ]);
  });

  it.each([
    { what: 'tolerations that are to be kept', tolerations: [MASTER], removesTolerations: false },
    { what: 'no added toleration left', tolerations: [OWN], removesTolerations: true },
  ])('with $what removes the annotation only', ({ tolerations, removesTolerations }) => {
    const added = 'master:NoSchedule';
    expect(cleaningPatch(leftOn(tolerations, added), removesTolerations)).toEqual(annotationRemoval(added));
  });
});
