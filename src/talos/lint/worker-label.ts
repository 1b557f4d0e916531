import type { FoundLabel } from '../declared.ts';
import type { Rule, RuleFinding } from './finding.ts';

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

export const WORKER_LABEL: Rule = {
  id: 'worker-label',
  severity: 'no-effect',
  about:
    'Labels that a kubelet may not set on its own node: `node-restriction.kubernetes.io/` and all of kubernetes.io and k8s.io but a few. Talos labels workers as their kubelet, control-plane nodes as an administrator; a kubelet with such a label in `--node-labels` does not start.',
  check: ({ configuration, role }) =>
    configuration.labels
      .filter(({ shape, value }) => (shape === 'node-labels' || role === 'worker') && !mayKubeletSet(value.key))
      .map(finding),
};

function finding({ document, path, shape, value: { key } }: FoundLabel): RuleFinding {
  const byFlag = shape === 'node-labels';
  return {
    document,
    path,
    severity: byFlag ? 'refused' : 'no-effect',
    reason: byFlag
      ? `the kubelet refuses to start with ${key}: a label of Kubernetes' own that is not for kubelets to set`
      : `a worker sets ${key} as its kubelet, and NodeRestriction refuses that; the other labels, annotations and taints of the same update are lost with it`,
    fix: `take a key of your own (example.com/${key.slice(key.indexOf('/') + 1)}), or set this one as an administrator: "kubectl label node"`,
  };
}
