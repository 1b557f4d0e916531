import type { Requester } from '../../policy/compiled-taint-policy.ts';
import type { NodeView, RequestedNode } from '../node-view.ts';

/** Whether the requester is a kubelet, by the API server's rule (`NodeIdentity` of k8s.io/kubernetes/pkg/auth/nodeidentifier). */
export function isKubelet({ username, groups }: Requester): boolean {
  return username.startsWith('system:node:') && groups.includes('system:nodes');
}

/** A request that creates a Node. */
export interface NodeCreation {
  readonly requester: Requester;
  readonly node: RequestedNode;
}

/** A request that updates a Node. */
export interface NodeUpdate extends NodeCreation {
  readonly oldNode: NodeView;
}
