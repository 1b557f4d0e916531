import type { PolicySelector } from '../policy/label-selector-schema.ts';
import { sameDeclaration } from './lint/worker-taint.ts';
import type { MachineConfiguration } from './machine-configuration.ts';

/**
 * True where the labels that select a worker never get there: Talos sets labels and taints in one request, as the kubelet,
 * and NodeRestriction refuses the whole of it because of the taints (NodeApplyController of siderolabs/talos; its issue
 * 8193). What the kubelet registers with is there from the start: taints also of KubeNodeConfig, as of Talos 1.14.
 */
export function taintsKeepLabelsOff(
  { role, taints, labels }: MachineConfiguration,
  { matchLabels = {}, matchExpressions = [] }: PolicySelector,
): boolean {
  const atRegistration = taints.filter(({ shape }) => shape !== 'nodeTaints');
  const later = taints.filter(
    (taint) => taint.shape === 'nodeTaints' && !atRegistration.some((other) => sameDeclaration(other, taint)),
  );
  if (role === 'controlplane' || later.length === 0) return false;
  const selecting = new Set([...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)]);
  const registered = new Set(labels.filter(({ shape }) => shape === 'node-labels').map(({ value }) => value.key));
  return labels.some(({ value: { key } }) => selecting.has(key) && !registered.has(key));
}
