/** Labels of Kubernetes' own that a kubelet may set on its node (k8s.io/kubelet/pkg/apis/well_known_labels.go). */
const KUBELET_LABELS: readonly string[] = [
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
];

/** Prefixes of further ones (same file). */
const KUBELET_NAMESPACES: readonly string[] = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const KUBERNETES_NAMESPACES: readonly string[] = ['kubernetes.io', 'k8s.io'];

/** Whether NodeRestriction lets a kubelet set the label on its own node (getForbiddenLabels of its admission.go). */
export function mayKubeletSet(key: string): boolean {
  const slash = key.indexOf('/');
  const namespace = slash < 0 ? '' : key.slice(0, slash);
  const isIn = (parents: readonly string[]) =>
    parents.some((parent) => namespace === parent || namespace.endsWith(`.${parent}`));
  return !isIn(KUBERNETES_NAMESPACES) || KUBELET_LABELS.includes(key) || isIn(KUBELET_NAMESPACES);
}
