/** Someone the API server knows by a client certificate: the name is its CN, the groups its Os. */
export interface User {
  readonly name: string;
  readonly groups: readonly string[];
}

/** May do everything: `system:masters` passes every authorization check. */
export const admin: User = { name: 'admin', groups: ['system:masters'] };

/** An ordinary user, allowed by RBAC to do everything with nodes, namespaces and DaemonSets, and to read pods. */
export const developer: User = { name: 'dev@example.com', groups: [] };

/** The node life cycle controller. Its rights come from the API server's bootstrap roles. */
export const nodeController: User = serviceAccount('kube-system', 'node-controller');

/** The kubelet of a node, bound by the Node authorizer and by NodeRestriction. */
export function node(name: string): User {
  return { name: `system:node:${name}`, groups: ['system:nodes'] };
}

/** A service account, which need not exist as an object to have this identity. */
export function serviceAccount(namespace: string, name: string): User {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
  };
}
