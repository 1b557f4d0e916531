import { expect, it } from 'vitest';
import { isTransientTaintKey } from '../../../src/policy/transient-taints.ts';

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
  ['node-role.kubernetes.io/control-plane', false],
  ['example.com/node.kubernetes.io', false],
  ['dedicated', false],
])('%s comes and goes by itself: %o', (key, transient) => {
  expect(isTransientTaintKey(key)).toBe(transient);
});
