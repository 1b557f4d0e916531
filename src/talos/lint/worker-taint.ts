import { formatTaint, sameTaint } from '../../policy/taint.ts';
import type { FoundTaint } from '../declared-taints.ts';
import { type Finding, isAtLeast, type LintSubject, MULTI_DOCUMENT_VERSION, type Rule } from './finding.ts';

// Talos' NodeApplyController writes labels, annotations and taints in one update: on control-plane nodes as an administrator,
// on workers with the kubelet's own kubeconfig. NodeRestriction refuses every update of a node by itself that changes
// spec.taints. Since 1.14, what is declared is in the kubelet's registerWithTaints, too (kubelet_config.go, kubelet_spec.go),
// unless extraArgs have register-with-taints.

export const WORKER_TAINT: Rule = {
  id: 'worker-taint',
  about:
    "Taints that Talos sets on a worker after it registered: NodeRestriction refuses the whole update. Up to Talos 1.13 that is every taint in `machine.nodeTaints`; since 1.14 those that `register-with-taints` keeps out of the kubelet's hands.",
  check(subject) {
    if (subject.role !== 'worker' || isAtLeast(subject, NODE_TAINTS_VERSION) === false) return [];
    const { taints } = subject.configuration;
    const byKubelet = taints.filter(isByKubelet);
    return taints.flatMap((taint) => {
      if (isByKubelet(taint) || byKubelet.some(({ value }) => value.key === taint.value.key)) return [];
      const kept = isHandedOver(subject, taint) ? keptBack(taint, byKubelet) : refused(subject, taint);
      return kept ? [kept] : [];
    });
  },
};

/** Before, there is no nodeTaints: field-version says so. */
const NODE_TAINTS_VERSION = 6;

export function isByKubelet({ shape }: FoundTaint): boolean {
  return shape === 'register-with-taints' || shape === 'registerWithTaints';
}

/** Whether the kubelet registers with the taint. */
function isHandedOver(subject: LintSubject, { shape }: FoundTaint): boolean {
  return isAtLeast(subject, MULTI_DOCUMENT_VERSION) ?? shape === 'KubeNodeConfig';
}

function keptBack({ document, path }: FoundTaint, byKubelet: readonly FoundTaint[]): Omit<Finding, 'rule'> | undefined {
  if (!byKubelet.some(({ shape }) => shape === 'register-with-taints')) return undefined;
  return {
    document,
    path,
    reason:
      'register-with-taints in extraArgs keeps Talos from handing this taint to the kubelet, and after registration NodeRestriction refuses it',
    fix: 'declare all taints here, and take register-with-taints out of extraArgs',
  };
}

function refused(subject: LintSubject, { document, path, value }: FoundTaint): Omit<Finding, 'rule'> {
  const { key, effect } = value;
  const item =
    value.value === ''
      ? `{ key: ${key}, effect: ${effect} }`
      : `{ key: ${key}, value: ${value.value}, effect: ${effect} }`;
  const versions = subject.version === undefined ? 'up to Talos 1.13' : `Talos 1.${subject.version}`;
  return {
    document,
    path,
    reason: `${versions}: a worker sets ${formatTaint(value)} as its kubelet, after it registered, and NodeRestriction refuses that; labels and annotations of the same update are lost with it`,
    fix: `register with it: machine.kubelet.extraConfig.registerWithTaints: [${item}]; for nodes that are registered, apply the policy that "taintkeeper talos policies" makes of this file`,
  };
}

/** True when both say the same of their key. */
export function sameDeclaration(a: FoundTaint, b: FoundTaint): boolean {
  return sameTaint(a.value, b.value) && a.value.value === b.value.value;
}
