import { NODE_CRITICAL_CLASS } from '../../scheduling/node-critical.ts';
import type { Placement } from '../../scheduling/placement.ts';
import { shellWord } from '../../text/printable.ts';
import { type InstalledDaemonSet, managerOf } from '../workload.ts';

/** A DaemonSet, and the change to make. */
export interface PriorityFinding {
  readonly namespace: string;
  readonly name: string;
  readonly why: string;
  /** Empty if it applies to all of them. */
  readonly nodes: readonly string[];
  readonly change: string;
}

/**
 * The daemons on which other pods of their node depend, and that have no priority class. The kubelet evicts their pods among the first, and they stay
 * Pending on a full node (Mellanox/network-operator#2960).
 */
export function criticalWithoutPriority(daemonSets: readonly InstalledDaemonSet[]): PriorityFinding[] {
  return daemonSets
    .filter(({ priorityClass, pluginDirectories }) => priorityClass === '' && pluginDirectories.length > 0)
    .map((daemonSet) => ({
      namespace: daemonSet.namespace,
      name: daemonSet.name,
      why: `it writes to ${daemonSet.pluginDirectories.join(', ')}`,
      nodes: [],
      change: priorityChange(daemonSet),
    }));
}

/**
 * The daemons whose pods do not fit on their node. The scheduler only preempts pods with a lower priority, so they wait forever behind pods of the
 * same one (kubernetes/kubernetes#140984).
 */
export function pendingOnFullNodes(
  daemonSets: readonly InstalledDaemonSet[],
  placements: ReadonlyMap<InstalledDaemonSet, Placement>,
): PriorityFinding[] {
  return daemonSets.flatMap((daemonSet) => {
    const pending = [...(placements.get(daemonSet) ?? [])].flatMap(([node, pod]) => {
      const lacks = pod.state === 'pending' ? lackedResources(pod.why) : [];
      return lacks.length > 0 ? [{ node, why: `the node has too little ${lacks.join(', ')}` }] : [];
    });
    return [...Map.groupBy(pending, ({ why }) => why)].map(([why, found]) => ({
      namespace: daemonSet.namespace,
      name: daemonSet.name,
      why,
      nodes: found.map(({ node }) => node),
      change: roomChange(daemonSet),
    }));
  });
}

/** What the node lacks, from the scheduler's message (plugin NodeResourcesFit): `Insufficient cpu`, `Too many pods`. */
function lackedResources(message: string): string[] {
  const found = [...message.matchAll(/Insufficient ([\w./-]*\w)/g)].map(([, resource = '']) => resource);
  return [...new Set([...found, ...(message.includes('Too many pods') ? ['room for pods'] : [])])];
}

function roomChange(daemonSet: InstalledDaemonSet): string {
  if (daemonSet.priorityClass !== '') {
    return `lower its requests, or those of pods there with a priority not below ${daemonSet.priorityClass}`;
  }
  return daemonSet.pluginDirectories.length > 0
    ? priorityChange(daemonSet)
    : 'set a priorityClassName that is higher than that of pods there: kubectl get priorityclasses';
}

function priorityChange(daemonSet: InstalledDaemonSet): string {
  const { namespace, name, controller } = daemonSet;
  if (controller) return `set priorityClassName: ${NODE_CRITICAL_CLASS} in ${controller.kind} ${controller.name}`;
  const patch = JSON.stringify({ spec: { template: { spec: { priorityClassName: NODE_CRITICAL_CLASS } } } });
  const command = `kubectl patch -n ${shellWord(namespace)} daemonset ${shellWord(name)} -p ${shellWord(patch)}`;
  const manager = managerOf(daemonSet);
  return manager === undefined ? command : `${command} (managed by ${manager}: change it there, too)`;
}
