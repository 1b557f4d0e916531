import { requirementsOf } from '../kubernetes/selector-overlap.ts';
import type { PolicySelector } from '../policy/selector.ts';
import type { FileTaint } from './file-taints.ts';
import type { MachineConfiguration } from './machine-configuration.ts';
import { MULTI_DOCUMENT_VERSION, surelySince } from './versions.ts';

// Talos' NodeApplyController writes labels, annotations and taints of a node in one update: on control-plane nodes as an
// administrator, on workers with the kubelet's own kubeconfig. NodeRestriction refuses every update of a node by itself that
// changes spec.taints. Since 1.14 what is declared is in the kubelet's registerWithTaints, too, whichever shape it is declared
// in (K8sNodeConfig().Taints() in kubelet_config.go), unless extraArgs have register-with-taints (kubelet_spec.go).

/**
 * The taints that Talos would have to set on a registered worker, and cannot. The same update then loses the labels and annotations
 * (siderolabs/talos#8193). The caller checks the role.
 * @param version minor version of Talos 1; without one, taints of the older form count as read by an older Talos
 */
export function refusedTaints({ taints }: MachineConfiguration, version?: number): FileTaint[] {
  const byKubelet = taints.filter(isByKubelet);
  const keys = new Set(byKubelet.map(({ value }) => value.key));
  const hasFlag = byKubelet.some(({ shape }) => shape === 'register-with-taints');
  return taints.filter(
    (taint) =>
      !isByKubelet(taint) &&
      // An equal one is set already. Talos does not change a different one, because it does not own it.
      !keys.has(taint.value.key) &&
      (hasFlag || !isHandedOver(taint, version)),
  );
}

/** Whether the kubelet sets the taint when it registers. */
export function isByKubelet({ shape }: FileTaint): boolean {
  return shape === 'register-with-taints' || shape === 'registerWithTaints';
}

/** Whether this Talos passes a declared taint to the kubelet, to register with. */
export function isHandedOver({ shape }: FileTaint, version?: number): boolean {
  // An earlier Talos has no KubeNodeConfig.
  return version === undefined ? shape === 'KubeNodeConfig' : surelySince(version, MULTI_DOCUMENT_VERSION);
}

/**
 * True if a worker never gets the labels that select it: Talos sets labels and taints in one request, as the kubelet, and NodeRestriction refuses the
 * whole request because of the taints. The node has from the start what the kubelet registers with.
 */
export function taintsKeepLabelsOff(configuration: MachineConfiguration, selector: PolicySelector): boolean {
  const { role, labels } = configuration;
  if (role === 'controlplane' || refusedTaints(configuration).length === 0) return false;
  const selecting = new Set(requirementsOf(selector).map(({ key }) => key));
  const registered = new Set(labels.filter(({ shape }) => shape === 'node-labels').map(({ value }) => value.key));
  return labels.some(({ value: { key } }) => selecting.has(key) && !registered.has(key));
}
