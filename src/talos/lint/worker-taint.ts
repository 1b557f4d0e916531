import { stringify } from 'yaml';
import { KUBECTL_YAML } from '../../files/printed-data.ts';
import { formatTaint } from '../../kubernetes/taint.ts';
import type { FileTaint } from '../file-taints.ts';
import { isHandedOver, refusedTaints } from '../refused-taints.ts';
import { NODE_TAINTS_VERSION, surelyBefore } from '../versions.ts';
import type { LintSubject, Rule, RuleFinding } from './finding.ts';

export const WORKER_TAINT: Rule = {
  id: 'worker-taint',
  severity: 'no-effect',
  about:
    'Taints that Talos sets on a worker after it registered: NodeRestriction refuses the whole update. Up to Talos 1.13 that is every taint in `machine.nodeTaints` that the kubelet does not register with; since 1.14 those that `register-with-taints` keeps out of its hands.',
  check(subject) {
    const { configuration, role, version } = subject;
    // Earlier versions have no nodeTaints: field-version reports that.
    if (role !== 'worker' || surelyBefore(version, NODE_TAINTS_VERSION)) return [];
    return refusedTaints(configuration, version).map((taint) =>
      isHandedOver(taint, version) ? keptBack(taint) : refused(subject, taint),
    );
  },
};

function keptBack({ document, path }: FileTaint): RuleFinding {
  return {
    document,
    path,
    reason:
      'register-with-taints in extraArgs keeps Talos from handing this taint to the kubelet, and after registration NodeRestriction refuses it; labels and annotations of the same update are lost with it',
    fix: 'declare all taints here, and remove register-with-taints from extraArgs',
  };
}

function refused({ version }: LintSubject, { document, path, value }: FileTaint): RuleFinding {
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
