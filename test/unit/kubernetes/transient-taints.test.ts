import { expect, it } from 'vitest';
import { isDeparting, isTransientTaintKey } from '../../../src/kubernetes/transient-taints.ts';

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
])('%s is a taint that Kubernetes, an autoscaler or an operator sets and removes: %o', (key, transient) => {
  expect(isTransientTaintKey(key)).toBe(transient);
});

it.each([
  { keys: ['dedicated', 'ToBeDeletedByClusterAutoscaler'], departing: true },
  { keys: ['aws-node-termination-handler/spot-itn'], departing: true },
  { keys: ['karpenter.sh/unregistered', 'node.kubernetes.io/unschedulable'], departing: false },
  { keys: [], departing: false },
])('a node with the taints $keys is about to go: $departing', ({ keys, departing }) => {
  expect(isDeparting(keys.map((key) => ({ key, effect: 'NoSchedule' })))).toBe(departing);
});
