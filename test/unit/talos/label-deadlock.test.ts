import { expect, it } from 'vitest';
import { taintsKeepLabelsOff } from '../../../src/talos/refused-taints.ts';
import { machine, read } from './declarations.ts';

const POOL = { matchLabels: { pool: 'gpu' } };
const TAINTS = { dedicated: 'gpu:NoSchedule' };
const LABELS = { pool: 'gpu' };

it.each([
  { what: 'both set by Talos', text: machine('worker', { nodeLabels: LABELS, nodeTaints: TAINTS }), keeps: true },
  {
    what: 'both set by Talos 1.14 and later, where the kubelet registers with the taint',
    text: `${machine('worker')}\n---\n{"apiVersion":"v1alpha1","kind":"KubeNodeConfig","labels":{"pool":"gpu"},"taints":{"dedicated":"NoSchedule"}}`,
    keeps: false,
  },
  {
    what: 'a patch that says both',
    text: JSON.stringify({ machine: { nodeLabels: LABELS, nodeTaints: TAINTS } }),
    keeps: true,
  },
  {
    what: 'a control plane, where Talos may',
    text: machine('controlplane', { nodeLabels: LABELS, nodeTaints: TAINTS }),
    keeps: false,
  },
  {
    what: 'a taint that the kubelet registers with',
    text: machine('worker', {
      nodeLabels: LABELS,
      kubelet: { extraArgs: { 'register-with-taints': 'dedicated=gpu:NoSchedule' } },
    }),
    keeps: false,
  },
  {
    what: 'the taint said twice, so that the kubelet registers with it',
    text: machine('worker', {
      nodeLabels: LABELS,
      nodeTaints: TAINTS,
      kubelet: { extraArgs: { 'register-with-taints': 'dedicated=gpu:NoSchedule' } },
    }),
    keeps: false,
  },
  {
    what: 'another taint that the kubelet registers with',
    text: machine('worker', {
      nodeLabels: LABELS,
      nodeTaints: TAINTS,
      kubelet: { extraArgs: { 'register-with-taints': 'x=y:NoSchedule' } },
    }),
    keeps: true,
  },
  {
    what: 'a label that the kubelet registers with',
    text: machine('worker', {
      nodeLabels: LABELS,
      nodeTaints: TAINTS,
      kubelet: { extraArgs: { 'node-labels': 'pool=gpu' } },
    }),
    keeps: false,
  },
  {
    what: 'a label that Talos does not set',
    text: machine('worker', { nodeLabels: { x: 'y' }, nodeTaints: TAINTS }),
    keeps: false,
  },
])('$what', ({ text, keeps }) => {
  expect(taintsKeepLabelsOff(read('a.yaml', text), POOL)).toBe(keeps);
});

it('goes by expressions, too', () => {
  const both = read('a.yaml', machine('worker', { nodeLabels: LABELS, nodeTaints: TAINTS }));
  expect(taintsKeepLabelsOff(both, { matchExpressions: [{ key: 'pool', operator: 'Exists' }] })).toBe(true);
});
