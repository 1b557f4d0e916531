/** The priority class of daemons without which a node cannot be used. */
export const NODE_CRITICAL_CLASS = 'system-node-critical';

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
 * Whether Kubernetes cannot use a node without this daemon, because its pods have no network or for another reason. Plugins for devices and volumes do
 * not count: they have the same priority class, and are often not meant for every node.
 * @param writes the directories of the node that it mounts to write to
 */
export function isNodeCritical(priorityClass: string, writes: readonly string[]): boolean {
  const plugins = writes.filter(isPluginDirectory);
  return plugins.some(isCniDirectory) || (priorityClass === NODE_CRITICAL_CLASS && plugins.length === 0);
}
