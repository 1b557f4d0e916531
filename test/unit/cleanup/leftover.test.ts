import { expect, it } from 'vitest';
import { readDaemonSet, removableOn } from '../../../src/cleanup/leftover.ts';
import type { ManagedFields } from '../../../src/objects/managed-fields.ts';
import { PATCHED, templateOf } from './managed-fields.ts';

const MASTER = { key: 'master', operator: 'Exists', effect: 'NoSchedule' };
const GPU = { key: 'gpu', operator: 'Exists', effect: 'NoSchedule' };
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const BOTH = ['master:NoSchedule', 'gpu:NoSchedule'];

const leftOn = (managedFields: readonly ManagedFields[], annotations: object = {}) =>
  readDaemonSet({
    metadata: {
      namespace: 'net',
      name: 'a',
      annotations: { 'taintkeeper.dev/tolerations-added': BOTH.join(), ...annotations },
      managedFields,
    },
    spec: { selector: {}, template: { spec: { tolerations: [MASTER, GPU] } } },
  });

const applied = (tolerations: readonly object[] | undefined) => ({
  [LAST_APPLIED]: JSON.stringify({ spec: { template: { spec: { tolerations } } } }),
});

it('an added toleration can be removed while taintkeeper owns the list, and only kubectl has written the template besides', () => {
  for (const annotations of [{}, applied(undefined), applied([])]) {
    const left = leftOn(PATCHED, annotations);
    expect(removableOn(left)).toEqual([MASTER, GPU]);
    expect(left.staying).toBeUndefined();
  }
});

it('one that kubectl apply declares stays', () => {
  const left = leftOn(PATCHED, applied([GPU]));
  expect(removableOn(left)).toEqual([MASTER]);
  expect(left.staying).toEqual({ indexes: [1], because: 'the manifest that kubectl apply applied last has it' });
});

it.each<{ why: string; managedFields: readonly ManagedFields[]; annotations?: object; because: RegExp }>([
  {
    why: 'another manager has written the list since',
    managedFields: [templateOf('helm', 'tolerations')],
    because: /^its list of tolerations was written since by field manager "helm" \(Update at 2026-01-02T03:04:05Z\)$/,
  },
  {
    why: 'another manager applies the same list',
    managedFields: [...PATCHED, templateOf('kubectl', 'tolerations', 'Apply')],
    because: /^its list of tolerations was written since by field manager "kubectl" \(Apply at/,
  },
  {
    why: 'no manager owns the list: a webhook added it to a DaemonSet without one',
    managedFields: [templateOf('kubectl-create', 'containers')],
    because: /^taintkeeper does not own its list of tolerations any more$/,
  },
  {
    why: 'a tool writes the template, which may find nothing to change for a list that it now declares',
    managedFields: [templateOf('helm', 'containers'), ...PATCHED],
    because: /^field manager "helm" \(.*\) writes it, and its source may have the toleration$/,
  },
  {
    why: 'kubectl replace writes the template: what it replaced is not recorded',
    managedFields: [templateOf('kubectl-replace', 'containers'), ...PATCHED],
    because: /^field manager "kubectl-replace"/,
  },
  {
    why: 'the last applied manifest cannot be read',
    managedFields: PATCHED,
    annotations: { [LAST_APPLIED]: '{' },
    because: /^the manifest that kubectl apply applied last cannot be read$/,
  },
])('all stay if $why', ({ managedFields, annotations, because }) => {
  const left = leftOn(managedFields, annotations);
  expect(removableOn(left)).toEqual([]);
  expect(left.staying).toEqual({ indexes: [0, 1], because: expect.stringMatching(because) });
});

it('nothing stays of a DaemonSet without an added toleration', () => {
  expect(leftOn([], { 'taintkeeper.dev/tolerations-added': '' }).staying).toBeUndefined();
});
