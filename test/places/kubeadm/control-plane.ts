import { waitUntil } from '../../control-plane/wait-until.ts';
import type { KubeadmCluster } from './cluster.ts';

const TIMEOUT_MS = 120_000;
const MANIFESTS = '/etc/kubernetes/manifests';
const ASIDE = '/etc/kubernetes/stopped-manifests';
const COMPONENTS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd'];

/** Restarts the API server of a machine, as kubeadm's documentation has it: its manifest is moved away, and back after its end. */
export async function restartApiServer(cluster: KubeadmCluster, machine: string): Promise<void> {
  await restart(cluster, machine, ['kube-apiserver']);
}

/** The same for all static pods of a control plane: after that they read renewed certificates. */
export async function restartControlPlane(cluster: KubeadmCluster, machine: string): Promise<void> {
  await restart(cluster, machine, COMPONENTS);
}

async function restart(cluster: KubeadmCluster, name: string, components: readonly string[]): Promise<void> {
  const machine = cluster.machine(name);
  const move = async (from: string, to: string) => {
    await machine.run(['mkdir', '-p', ASIDE]);
    await machine.run(['mv', ...components.map((one) => `${from}/${one}.yaml`), to]);
  };
  await move(MANIFESTS, ASIDE);
  await waitUntil(
    async () => {
      const { stdout } = await machine.exec([
        'pgrep',
        '--list-full',
        '--exact',
        components.map((one) => one.slice(0, 15)).join('|'),
      ]);
      return stdout === '' ? true : undefined;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => `${components.join(', ')} of ${name} do not end` },
  );
  await move(ASIDE, MANIFESTS);
  await apiReady(cluster);
}

/** Waits until the API server of the first machine says that it is ready. */
export async function apiReady(cluster: KubeadmCluster): Promise<void> {
  let last = '';
  await waitUntil(
    async () => {
      const { code, stderr } = await cluster.tryKubectl(['get', '--raw', '/readyz']);
      last = stderr;
      return code === 0 ? true : undefined;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => `the API server is not ready: ${last}` },
  );
}
