import type { KubeadmCluster } from './cluster.ts';
import { POD_RANGE } from './cluster.ts';
import { programPath } from './programs.ts';

export const FLANNEL_NAMESPACE = 'kube-flannel';

/** The tolerations that Flannel's chart had after PR #1907: they name only one of the two taints of a control plane. */
const TOLERATIONS = [
  { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
  { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' },
  { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
  { key: 'node-role.kubernetes.io/etcd', operator: 'Exists', effect: 'NoExecute' },
];

/** Installs Flannel by its chart. */
export async function installFlannel(cluster: KubeadmCluster): Promise<void> {
  await cluster.kubectl(['create', 'namespace', FLANNEL_NAMESPACE]);
  const label = 'pod-security.kubernetes.io/enforce=privileged';
  await cluster.kubectl(['label', '--overwrite', 'namespace', FLANNEL_NAMESPACE, label]);
  await cluster.helm(
    ...['install', 'flannel', programPath('kube-flannel'), '--namespace', FLANNEL_NAMESPACE],
    ...['--set', `podCidr=${POD_RANGE}`, '--set-json', `flannel.tolerations=${JSON.stringify(TOLERATIONS)}`],
  );
}

/** As `kubectl get node` shows it, such as `NotReady`. */
export async function nodeState(cluster: KubeadmCluster, name: string): Promise<string | undefined> {
  return (await cluster.kubectl(['get', 'node', name, '--no-headers'])).split(/\s+/)[1];
}
