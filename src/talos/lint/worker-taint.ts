import { stringify } from 'yaml';
import { KUBECTL_YAML } from '../../files/kubectl-yaml.ts';
import { formatTaint } from '../../policy/taint.ts';
import type { FoundTaint } from '../declared-taints.ts';
import { isHandedOver, refusedTaints } from '../refused-taints.ts';
import type { Finding, LintSubject, Rule } from './finding.ts';

export const WORKER_TAINT: Rule = {
  id: 'worker-taint',
  about:
    'Taints that Talos sets on a worker after it registered: NodeRestriction refuses the whole update. Up to Talos 1.13 that is every taint in `machine.nodeTaints` that the kubelet does not register with; since 1.14 those that `register-with-taints` keeps out of its hands.',
  check(subject) {
    const { configuration, role, version } = subject;
    // Before, there is no nodeTaints: field-version says so.
    if (role !== 'worker' || (version !== undefined && version < NODE_TAINTS_VERSION)) return [];
    return refusedTaints(configuration, version).map((taint) =>
      isHandedOver(taint, version) ? keptBack(taint) : refused(subject, taint),
    );
  },
};

const NODE_TAINTS_VERSION = 6;

function keptBack({ document, path }: FoundTaint): Omit<Finding, 'rule'> {
  return {
    document,
    path,
    reason:
      'register-with-taints in extraArgs keeps Talos from handing this taint to the kubelet, and after registration NodeRestriction refuses it; labels and annotations of the same update are lost with it',
    fix: 'declare all taints here, and take register-with-taints out of extraArgs',
  };
}

function refused({ version }: LintSubject, { document, path, value }: FoundTaint): Omit<Finding, 'rule'> {
  const { key, effect } = value;
  const item = [
    `key: ${key}`,
    ...(value.value === '' ? [] : [`value: ${stringify(value.value, KUBECTL_YAML).trim()}`]),
    `effect: ${effect}`,
  ].join(', ');
  const versions = version === undefined ? 'up to Talos 1.13' : `Talos 1.${version}`;
  return {
    document,
    path,
    reason: `${versions}: a worker sets ${formatTaint(value)} as its kubelet, after it registered, and NodeRestriction refuses that; labels and annotations of the same update are lost with it`,
    fix: `register with it: machine.kubelet.extraConfig.registerWithTaints: [{ ${item} }]; for nodes that are registered, apply the policy that "taintkeeper talos policies" makes of this file`,
  };
}
