/** The taint that the built-in policies, and the ones below, protect. */
export const CONTROL_PLANE_TAINT = { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' };

/** A TaintPolicy for the control plane's taint, as it stands in a file. */
export function taintPolicyYaml(mode: 'Deny' | 'Restore' | 'Audit', name = `keep-${mode.toLowerCase()}`): string {
  return `apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata:
  name: ${name}
spec:
  mode: ${mode}
  taints:
    - key: node-role.kubernetes.io/control-plane
`;
}

export const TOLERATION_POLICY_YAML = `apiVersion: taintkeeper.dev/v1alpha1
kind: TolerationPolicy
metadata:
  name: cni
spec:
  mode: Mutate
  daemonSets:
    namespaces: [kube-flannel]
`;

export function nodeObject(taints: unknown, metadata: object = {}) {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: 'cp-1', ...metadata }, spec: { taints } };
}

export function daemonSetObject(tolerations: unknown, metadata: object = {}) {
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'kube-flannel-ds', namespace: 'kube-flannel', ...metadata },
    spec: { template: { spec: { tolerations } } },
  };
}

/** An AdmissionReview as the API server sends it; `request` adds to its request, or overrides it. */
export function nodeUpdateReview(before: unknown, after: unknown, request: object = {}) {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'uid-1',
      kind: { group: '', version: 'v1', kind: 'Node' },
      resource: { group: '', version: 'v1', resource: 'nodes' },
      name: 'cp-1',
      operation: 'UPDATE',
      userInfo: { username: 'dev@example.com', groups: ['system:authenticated'] },
      object: nodeObject(after),
      oldObject: nodeObject(before),
      dryRun: false,
      ...request,
    },
  };
}

/** The review of an update that removes the control plane's taint. */
export function taintRemovalReview(request: object = {}) {
  return nodeUpdateReview([CONTROL_PLANE_TAINT], [], request);
}

/** The review of an update that removes nothing. */
export function harmlessReview(request: object = {}) {
  return nodeUpdateReview([CONTROL_PLANE_TAINT], [CONTROL_PLANE_TAINT], request);
}

export function daemonSetCreationReview(tolerations: unknown, request: object = {}) {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'uid-ds',
      kind: { group: 'apps', version: 'v1', kind: 'DaemonSet' },
      resource: { group: 'apps', version: 'v1', resource: 'daemonsets' },
      name: 'kube-flannel-ds',
      namespace: 'kube-flannel',
      operation: 'CREATE',
      userInfo: { username: 'dev@example.com' },
      object: daemonSetObject(tolerations),
      ...request,
    },
  };
}
