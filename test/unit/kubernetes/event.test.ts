import { expect, it } from 'vitest';
import { daemonSetReference, namespaceOf, nodeReference } from '../../../src/kubernetes/event.ts';

it('Events of a DaemonSet are in its namespace, and those of a node in the default one', () => {
  const node = nodeReference({ name: 'n1', uid: 'u1' });
  const daemonSet = daemonSetReference({ namespace: 'kube-system', name: 'cni', uid: 'u2' });
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
