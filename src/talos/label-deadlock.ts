import type { PolicySelector } from '../policy/label-selector-schema.ts';
import type { MachineConfiguration } from './machine-configuration.ts';
import { refusedTaints } from './refused-taints.ts';

/**
 * True where the labels that select a worker never get there: Talos sets labels and taints in one request, as the kubelet,
 * and NodeRestriction refuses the whole of it because of the taints. What the kubelet registers with is there from the start.
 */
export function taintsKeepLabelsOff(
  configuration: MachineConfiguration,
  { matchLabels = {}, matchExpressions = [] }: PolicySelector,
): boolean {
  const { role, labels } = configuration;
  if (role === 'controlplane' || refusedTaints(configuration).length === 0) return false;
  const selecting = new Set([...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)]);
  const registered = new Set(labels.filter(({ shape }) => shape === 'node-labels').map(({ value }) => value.key));
  return labels.some(({ value: { key } }) => selecting.has(key) && !registered.has(key));
}
