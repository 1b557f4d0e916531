import type { PolicySelector } from '../policy/label-selector-schema.ts';
import type { MachineConfiguration } from './machine-configuration.ts';

/**
 * True where the labels that select a worker can never get there: Talos sets labels and taints in one request, as the
 * kubelet, and NodeRestriction refuses the whole of it because of the taints (NodeApplyController of siderolabs/talos; its
 * issue 8193). Labels that the kubelet registers with are there from the start.
 */
export function taintsKeepLabelsOff(
  { role, taints, labels }: MachineConfiguration,
  { matchLabels = {}, matchExpressions = [] }: PolicySelector,
): boolean {
  if (role === 'controlplane' || !taints.some(({ shape }) => setByTalos(shape))) return false;
  const selecting = new Set([...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)]);
  const registered = new Set(labels.filter(({ shape }) => !setByTalos(shape)).map(({ value }) => value.key));
  return labels.some(({ value: { key } }) => selecting.has(key) && !registered.has(key));
}

/** Not by the kubelet, when it registers. */
function setByTalos(shape: MachineConfiguration['taints' | 'labels'][number]['shape']): boolean {
  return shape === 'nodeTaints' || shape === 'nodeLabels' || shape === 'KubeNodeConfig';
}
