import { describe, expect, it } from 'vitest';
import { formatTaint } from '../../../src/kubernetes/taint.ts';
import { nodeNames } from '../../../src/talos/assignment.ts';
import { labelsOf } from '../../../src/talos/node-declaration.ts';
import { declare, read } from './declarations.ts';

const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';

describe('what a machine configuration declares', () => {
  it.each([
    { text: 'machine: {type: controlplane}', taints: [`${CONTROL_PLANE}:NoSchedule`], labels: { [CONTROL_PLANE]: '' } },
    { text: 'machine: {type: init}', taints: [`${CONTROL_PLANE}:NoSchedule`], labels: { [CONTROL_PLANE]: '' } },
    {
      text: 'machine: {type: controlplane}\ncluster: {allowSchedulingOnControlPlanes: true}',
      taints: [],
      labels: { [CONTROL_PLANE]: '' },
    },
    {
      text: `machine: {type: controlplane, nodeTaints: {${CONTROL_PLANE}: ":PreferNoSchedule"}}`,
      why: 'Talos goes by the key: nodeTaints takes the place of its own',
      taints: [`${CONTROL_PLANE}:PreferNoSchedule`],
      labels: { [CONTROL_PLANE]: '' },
    },
    { text: 'machine: {type: worker}', taints: [], labels: {} },
    {
      text: 'cluster: {allowSchedulingOnControlPlanes: false}',
      why: 'a patch that does not name the type of its machines',
      taints: [],
      labels: {},
    },
    {
      text: 'machine: {type: controlplane}\n---\napiVersion: v1alpha1\nkind: KubeNodeConfig\nlabels: {a: b}\n',
      why: 'the document says it all: without the taint, workloads run there',
      taints: [],
      labels: { a: 'b' },
    },
    {
      text: `machine: {type: controlplane}\n---\napiVersion: v1alpha1\nkind: KubeNodeConfig\ntaints: {${CONTROL_PLANE}: NoSchedule}\n`,
      taints: [`${CONTROL_PLANE}:NoSchedule`],
      labels: {},
    },
    {
      text: 'machine: {type: worker, nodeTaints: {dedicated: "gpu:NoSchedule"}, kubelet: {extraArgs: {register-with-taints: "dedicated=gpu:NoSchedule,dedicated=gpu:NoExecute"}}}',
      why: 'one of each key and effect',
      taints: ['dedicated=gpu:NoSchedule', 'dedicated=gpu:NoExecute'],
      labels: {},
    },
  ])('$text', ({ text, taints, labels }) => {
    const declaration = declare('a.yaml', text);
    expect(declaration.taints.map(formatTaint)).toEqual(taints);
    expect(labelsOf(declaration)).toEqual(labels);
  });

  it('says where the taint of the role comes from', () => {
    expect(declare('cp.yaml', 'cluster: {}\nmachine:\n  type: controlplane\n').taints[0]?.at).toBe('cp.yaml:3:3');
  });

  it.each([
    {
      what: 'taint',
      text: `machine:
  nodeTaints:
    dedicated: gpu:NoSchedule
  kubelet:
    extraArgs:
      register-with-taints: dedicated=cpu:NoSchedule
`,
      places: ['a.yaml:3:5', 'a.yaml:6:7'],
    },
    {
      what: 'label',
      text: `machine:
  nodeLabels:
    pool: gpu
---
apiVersion: v1alpha1
kind: KubeNodeConfig
labels:
  pool: cpu
`,
      places: ['a.yaml:3:5', 'a.yaml:8:3'],
    },
  ])('refuses a $what with two values, naming both places', ({ text, places }) => {
    for (const place of places) expect(() => declare('a.yaml', text)).toThrow(place);
  });
});

describe('the names of the nodes', () => {
  it.each([
    { text: 'machine: {network: {hostname: Gpu_1}}', names: ['gpu-1'] },
    {
      text: 'apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: gpu-1.example.com',
      names: ['gpu-1.example.com', 'gpu-1'],
    },
    { text: 'apiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable', names: [] },
    { text: 'machine: {type: worker}', names: [] },
    { text: 'apiVersion: v1alpha1\nkind: DiscoveryServiceConfig\nhostname: gpu-1', names: [] },
  ])('of $text', ({ text, names }) => {
    expect(nodeNames(read('a.yaml', text))).toEqual(names);
  });
});
