import { expect, it } from 'vitest';
import {
  isDeparting,
  isStartupTaintKey,
  isTransientTaintKey,
  isUnderPressure,
  removerOf,
  TRANSIENT_TAINT_KEYS,
} from '../../../src/kubernetes/transient-taints.ts';

it.each([
  ['node.kubernetes.io/not-ready', true],
  ['node.kubernetes.io/unschedulable', true],
  ['node.cloudprovider.kubernetes.io/uninitialized', true],
  ['node.cilium.io/agent-not-ready', true],
  ['ebs.csi.aws.com/agent-not-ready', true],
  ['secrets-store.csi.k8s.io/agent-not-ready', true],
  ['agent-not-ready', false],
  ['karpenter.sh/unregistered', true],
  ['node.cluster.x-k8s.io/uninitialized', true],
  ['kubevirt.io/drain', true],
  ['ToBeDeletedByClusterAutoscaler', true],
  ['NodeWithImpairedVolumes', true],
  ['UpdateInProgress', true],
  ['kured.dev/kured-node-reboot', true],
  ['weave.works/kured-node-reboot', true],
  ['node.gardener.cloud/critical-components-not-ready', true],
  ['skyhook.nvidia.com', true],
  ['odigos.io/needs-init', true],
  ['agent.datadoghq.com/not-ready', true],
  ['node.projectcalico.org/network-not-ready', true],
  ['egressgateway.kubernetes.azure.com/cni-not-ready', true],
  ['aci-containers-host/unavailable', true],
  ['node.deckhouse.io/csi-not-bootstrapped', true],
  ['node.deckhouse.io/etcd-arbiter', false],
  ['skyhook.nvidia.com/gpu', false],
  ['node-role.kubernetes.io/control-plane', false],
  ['example.com/node.kubernetes.io', false],
  ['dedicated', false],
  ['karpenter.sh/disrupted', true],
  ['karpenter.sh/disruption', true],
  ['karpenter.sh/not-ready', true],
  ['aws-node-termination-handler/spot-itn', true],
  ['remediator.kubernetes.azure.com/unschedulable', true],
  ['remediator.aks.microsoft.com/unschedulable', true],
  ['node.cluster.x-k8s.io/outdated-revision', true],
  ['medik8s.io/drain', true],
  ['remediation.medik8s.io/self-node-remediation', true],
  ['readiness.k8s.io/network', true],
  ['nidhogg.uswitch.com/kube-system.kiam', true],
  ['startup-taint.cluster-autoscaler.kubernetes.io/gpu', true],
])('%s is a taint that Kubernetes, an autoscaler or an operator sets and removes: %o', (key, transient) => {
  expect(isTransientTaintKey(key)).toBe(transient);
});

// Users set these and they stay. Only the domain is that of a program.
it.each([
  { key: 'karpenter.sh/controller', why: 'nodes for Karpenter itself, in its own getting-started guides' },
  { key: 'karpenter.sh/capacity-type', why: 'a label of Karpenter, also used as a taint of spot nodes' },
  { key: 'karpenter.sh/nodepool', why: 'a label of Karpenter' },
  { key: 'node.kubernetes.io/instance-type', why: 'a well-known label' },
  { key: 'node.kubernetes.io/lifecycle', why: 'spot nodes of older EKS clusters' },
  { key: 'node.kubernetes.io/exclude-from-external-load-balancers', why: 'a well-known label' },
  { key: 'node.cloudprovider.kubernetes.io/pool', why: 'no taint of cloud providers' },
  { key: 'node.cluster.x-k8s.io/pool', why: 'Cluster API copies labels of this domain from Machines' },
  { key: 'aws-node-termination-handler/managed', why: 'a tag of Auto Scaling groups' },
  { key: 'remediator.kubernetes.azure.com/pool', why: 'no taint of the remediator' },
  { key: 'kubernetes.azure.com/scalesetpriority', why: 'spot nodes of AKS keep it' },
])('$key is a permanent taint: $why', ({ key }) => {
  expect(isTransientTaintKey(key)).toBe(false);
  expect(isStartupTaintKey(key)).toBe(false);
});

it('patterns are only for programs that make keys while they run', () => {
  expect(TRANSIENT_TAINT_KEYS.filter((key) => key.includes('*'))).toEqual([
    'status-taint.cluster-autoscaler.kubernetes.io/*',
    'startup-taint.cluster-autoscaler.kubernetes.io/*',
    'ignore-taint.cluster-autoscaler.kubernetes.io/*',
    '*/agent-not-ready',
    'readiness.k8s.io/*',
    'nidhogg.uswitch.com/*',
  ]);
});

it('no key is listed twice', () => {
  expect(TRANSIENT_TAINT_KEYS).toEqual([...new Set(TRANSIENT_TAINT_KEYS)]);
});

it.each([
  ['node.cilium.io/agent-not-ready', "Cilium's operator"],
  ['ebs.csi.aws.com/agent-not-ready', 'the CSI driver or agent ebs.csi.aws.com'],
  ['karpenter.sh/unregistered', 'Karpenter'],
  ['node.kubernetes.io/out-of-service', 'an administrator'],
  ['readiness.k8s.io/network', 'node-readiness-controller'],
  ['dedicated', undefined],
])('%s is removed by %s', (key, remover) => {
  expect(removerOf(key)).toBe(remover);
});

it.each([
  { keys: ['dedicated', 'ToBeDeletedByClusterAutoscaler'], departing: true },
  { keys: ['aws-node-termination-handler/spot-itn'], departing: true },
  { keys: ['karpenter.sh/unregistered', 'node.kubernetes.io/unschedulable'], departing: false },
  { keys: ['karpenter.sh/capacity-type', 'aws-node-termination-handler/managed'], departing: false },
  { keys: [], departing: false },
])('a node with the taints $keys is about to go: $departing', ({ keys, departing }) => {
  expect(isDeparting(keys.map((key) => ({ key, effect: 'NoSchedule' })))).toBe(departing);
});

it.each([
  { keys: ['dedicated', 'node.kubernetes.io/disk-pressure'], pressure: true },
  { keys: ['node.kubernetes.io/memory-pressure'], pressure: true },
  { keys: ['node.kubernetes.io/pid-pressure'], pressure: true },
  { keys: ['node.kubernetes.io/not-ready'], pressure: false },
  { keys: [], pressure: false },
])('a node with the taints $keys is under pressure: $pressure', ({ keys, pressure }) => {
  expect(isUnderPressure(keys.map((key) => ({ key, effect: 'NoSchedule' })))).toBe(pressure);
});
