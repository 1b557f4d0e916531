import { expect, it } from 'vitest';
import { readDaemonSet, removableOn } from '../../../src/cleanup/leftover.ts';
import type { ManagedFields } from '../../../src/objects/managed-fields.ts';
import { appliedWith, PATCHED, templateOf } from './managed-fields.ts';

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

const SERVER_SIDE = [templateOf('kubectl', 'containers', 'Apply'), templateOf('taintkeeper', 'tolerations')];

it.each<{ why: string; managedFields: readonly ManagedFields[]; annotations: object }>([
  { why: 'has no list', managedFields: PATCHED, annotations: appliedWith() },
  { why: 'has an empty list', managedFields: PATCHED, annotations: appliedWith([]) },
  { why: 'does not own the list after server-side apply', managedFields: SERVER_SIDE, annotations: {} },
  {
    why: 'has no list, and kubectl label, annotate, edit, patch, set and rollout wrote since',
    managedFields: [
      ...PATCHED,
      ...['label', 'annotate', 'edit', 'patch', 'set', 'rollout', 'last-applied'].map((command) =>
        templateOf(`kubectl-${command}`, 'containers'),
      ),
    ],
    annotations: appliedWith([]),
  },
])(
  'an added toleration can be removed while taintkeeper owns the list, and the manifest of kubectl apply $why',
  ({ managedFields, annotations }) => {
    const left = leftOn(managedFields, annotations);
    expect(removableOn(left)).toEqual([MASTER, GPU]);
    expect(left.staying).toBeUndefined();
  },
);

it('one that kubectl apply declares stays', () => {
  const left = leftOn(PATCHED, appliedWith([GPU]));
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
    why: 'a tool whose name begins as that of kubectl writes the template',
    managedFields: [templateOf('kubectl-tool', 'containers'), ...PATCHED],
    annotations: appliedWith([]),
    because: /^field manager "kubectl-tool"/,
  },
  {
    why: 'kubectl apply has not applied the DaemonSet: kubectl create and kubectl patch record no manifest',
    managedFields: [
      templateOf('kubectl-create', 'containers'),
      templateOf('kubectl-patch', 'containers'),
      ...PATCHED.slice(1),
    ],
    because: /^kubectl apply has not applied it, so its manifest is not known$/,
  },
  {
    why: 'server-side apply of another tool wrote the template',
    managedFields: [templateOf('argocd-controller', 'containers', 'Apply'), ...PATCHED],
    because: /^field manager "argocd-controller" \(Apply at/,
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
