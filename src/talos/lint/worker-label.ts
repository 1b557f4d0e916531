import type { FileLabel } from '../file-labels.ts';
import { mayKubeletSet } from '../kubelet-labels.ts';
import type { Rule, RuleFinding } from './finding.ts';

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

function finding({ document, path, shape, value: { key } }: FileLabel): RuleFinding {
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
