import { shellWord } from '../kubernetes/text.ts';
import type { Placement } from './placement.ts';
import { type InstalledDaemonSet, managerOf } from './remedies.ts';

/**
 * Directories from which the container runtime and the kubelet take their plugins: for CNI (containernetworking/cni), for devices and for
 * CSI (k8s.io/kubelet/pkg/apis). Distributions have them below a directory of their own.
 */
const PLUGIN_DIRECTORY = /\/cni\/(bin|net\.d)\/?$|\/kubelet\/(plugins|plugins_registry|device-plugins)(\/|$)/;

/** Whether a CNI plugin, or its configuration, is in this directory of the node. */
export function isCniDirectory(path: string): boolean {
  return isPluginDirectory(path) && path.includes('/cni/');
}

/** Whether other pods depend on a daemon that writes to this directory of the node. */
export function isPluginDirectory(path: string): boolean {
  return PLUGIN_DIRECTORY.test(path);
}

/**
 * Whether a node without this daemon has no network for its pods, or is in other ways not one that Kubernetes can use. Plugins for devices and volumes have
 * the same priority class, and are often not meant for every node.
 * @param writes the directories of the node that it mounts to write to
 */
export function isNodeCritical(priorityClass: string, writes: readonly string[]): boolean {
  const plugins = writes.filter(isPluginDirectory);
  return plugins.some(isCniDirectory) || (priorityClass === CLASS && plugins.length === 0);
}

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
 * The daemons whose pods do not fit on their node. The scheduler only preempts pods with a lower priority, so that they wait forever behind pods of
 * the same one (kubernetes/kubernetes#140984).
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

const CLASS = 'system-node-critical';

function priorityChange(daemonSet: InstalledDaemonSet): string {
  const { namespace, name, controller } = daemonSet;
  if (controller) return `set priorityClassName: ${CLASS} in ${controller.kind} ${controller.name}`;
  const patch = JSON.stringify({ spec: { template: { spec: { priorityClassName: CLASS } } } });
  const command = `kubectl patch -n ${shellWord(namespace)} daemonset ${shellWord(name)} -p ${shellWord(patch)}`;
  const manager = managerOf(daemonSet);
  return manager === undefined ? command : `${command} (managed by ${manager}: change it there, too)`;
}
