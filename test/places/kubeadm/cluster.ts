import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { helmPath } from '../../control-plane/helm.ts';
import type { ToolResult } from '../../control-plane/run-tool.ts';
import { createWorkspace } from '../../control-plane/workspace.ts';
import { nodeAddress } from '../../real-node/addresses.ts';
import { cgroupOf, sweepCgroups } from '../../real-node/cgroups.ts';
import { makeNamespaces } from '../../real-node/namespaces.ts';
import { layWire } from '../../real-node/network.ts';
import { ON_SHARED_DISK } from '../../real-node/node-files.ts';
import { ETCD_TAG, provideKubeadmImages } from './images.ts';
import { type CommandOptions, createMachine, type Machine } from './machine.ts';
import { KUBERNETES_VERSION, programPath } from './programs.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
/** This project's command line. */
export const TAINTKEEPER = [process.execPath, join(ROOT, 'bin', 'taintkeeper.js')];
const INIT_TIMEOUT_MS = 240_000;
const API_PORT = 6443;
export const POD_RANGE = '10.244.0.0/16';
const SERVICE_RANGE = '10.96.0.0/16';
/** What a machine has of programs, as its packages brought them. */
const PROGRAMS = ['kubeadm', 'kubelet', 'kubectl', 'containerd', 'containerd-shim-runc-v2', 'ctr'];
/**
 * Facts of the host that kubeadm would refuse: cgroup v1, swap, and that it has few processors or little memory.
 */
export const IGNORED_CHECKS = '--ignore-preflight-errors=SystemVerification,Swap,NumCPU,Mem';

/** Machines of which kubeadm makes a cluster, in namespaces that end with this process. */
export interface KubeadmCluster {
  /** @throws Error when there is none of that name */
  machine(name: string): Machine;
  /** Runs `kubeadm init` on the first machine. @param changes fields of the ClusterConfiguration */
  init(changes?: object): Promise<void>;
  /** Runs `kubeadm join` on another machine, with a new token. */
  join(name: string, options?: JoinOptions): Promise<void>;
  /** Runs kubectl on the first machine. @throws Error with what it printed on stderr when it fails */
  kubectl(args: readonly string[], options?: CommandOptions): Promise<string>;
  /** The same; a failure is a result. */
  tryKubectl(args: readonly string[], options?: CommandOptions): Promise<ToolResult>;
  /** Runs helm on the first machine. @throws Error with what it printed on stderr when it fails */
  helm(...args: readonly string[]): Promise<void>;
  /** Runs this project's command line on the first machine. */
  taintkeeper(...args: readonly string[]): Promise<ToolResult>;
  /** The ends of the logs of units and pods of all machines. */
  logs(components: readonly string[]): string;
  stop(): Promise<void>;
}

export interface JoinOptions {
  /** Makes it a control plane. */
  readonly controlPlane?: boolean;
  readonly taints?: readonly object[];
  readonly labels?: string;
}

/**
 * Prepares machines and gives them power.
 *
 * @param names of the machines; the first one is for `kubeadm init`
 * @throws Error when one does not start; then nothing is left
 */
export async function startMachines(...names: readonly [string, ...string[]]): Promise<KubeadmCluster> {
  const report = (line: string) => process.stderr.write(`${line}\n`);
  const images = provideKubeadmImages(report);
  sweepCgroups();
  const workspace = createWorkspace('kubeadm');
  const lab = await makeNamespaces('lab', workspace.logFile('lab'));
  const hosts = Object.fromEntries(names.map((name, index) => [nodeAddress(index + 1), name]));
  const programs = Object.fromEntries(PROGRAMS.map((name) => [name, programPath(name)]));
  const machines = names.map((name, index) => {
    const folder = workspace.path(name);
    mkdirSync(folder);
    const { logFile } = workspace;
    return createMachine({ name, number: index + 1, lab, folder, logFile, cgroup: cgroupOf(name), hosts, programs });
  });
  const stop = async () => {
    try {
      await Promise.all(machines.map((machine) => machine.cutPower()));
    } finally {
      await lab.end();
      workspace.remove();
    }
  };
  try {
    await layWire(lab);
    await Promise.all(
      machines.map(async (machine) => {
        await machine.powerOn();
        await machine.loadImages(images);
      }),
    );
    return asCluster(machines, stop);
  } catch (error) {
    await stop().catch((again) => report(`${again}`));
    throw error;
  }
}

function asCluster(machines: readonly Machine[], stop: () => Promise<void>): KubeadmCluster {
  const [first] = machines as [Machine];
  const machine = (name: string) => {
    const found = machines.find((one) => one.name === name);
    if (!found) throw new Error(`there is no machine ${name}`);
    return found;
  };
  const tryKubectl: KubeadmCluster['tryKubectl'] = (args, options) => first.exec(['kubectl', ...args], options);
  let clusterConfiguration: object = {};

  return {
    machine,
    stop,
    tryKubectl,
    async init(changes = {}) {
      clusterConfiguration = { ...CLUSTER, ...changes };
      const config = [
        { ...KUBEADM_API, kind: 'InitConfiguration', localAPIEndpoint: endpointOf(first), ...registration(first) },
        clusterConfiguration,
        KUBELET,
        PROXY,
      ];
      await first.write('/etc/kubernetes/kubeadm.yaml', config.map((document) => stringify(document)).join('---\n'));
      await first.run(['kubeadm', 'init', '--config', '/etc/kubernetes/kubeadm.yaml', IGNORED_CHECKS], {
        timeoutMs: INIT_TIMEOUT_MS,
      });
    },
    async join(name, options = {}) {
      const joining = machine(name);
      const printed = await first.run(['kubeadm', 'token', 'create', '--print-join-command']);
      const word = (flag: string) => printed.trim().split(/\s+/)[printed.trim().split(/\s+/).indexOf(flag) + 1];
      const discovery = {
        bootstrapToken: {
          token: word('--token'),
          apiServerEndpoint: `${first.address}:${API_PORT}`,
          caCertHashes: [word('--discovery-token-ca-cert-hash')],
        },
      };
      const certificates = () =>
        first.run([
          'kubeadm',
          'init',
          'phase',
          'upload-certs',
          '--upload-certs',
          '--config',
          '/etc/kubernetes/kubeadm.yaml',
        ]);
      const config = {
        ...KUBEADM_API,
        kind: 'JoinConfiguration',
        discovery,
        ...(options.controlPlane
          ? {
              controlPlane: {
                localAPIEndpoint: endpointOf(joining),
                certificateKey: (await certificates()).trim().split('\n').at(-1),
              },
            }
          : {}),
        ...registration(joining, options),
      };
      await joining.write('/etc/kubernetes/join.yaml', stringify(config));
      await joining.run(['kubeadm', 'join', '--config', '/etc/kubernetes/join.yaml', IGNORED_CHECKS], {
        timeoutMs: INIT_TIMEOUT_MS,
      });
    },
    kubectl: (args, options) => first.run(['kubectl', ...args], options),
    async helm(...args) {
      await first.run([helmPath() ?? 'helm', ...args]);
    },
    taintkeeper: (...args) => first.exec([...TAINTKEEPER, ...args]),
    logs: (components) =>
      machines
        .flatMap((one) => components.map((component) => one.log(component)))
        .filter((text) => text !== '')
        .join('\n'),
  };
}

const KUBEADM_API = { apiVersion: 'kubeadm.k8s.io/v1beta4' };

function endpointOf({ address }: Machine): object {
  return { advertiseAddress: address, bindPort: API_PORT };
}

function registration(machine: Machine, { taints, labels }: JoinOptions = {}): object {
  const kubeletExtraArgs = [
    { name: 'cgroup-root', value: `/${machine.cgroup}` },
    { name: 'node-ip', value: machine.address },
    ...(labels === undefined ? [] : [{ name: 'node-labels', value: labels }]),
  ];
  return {
    nodeRegistration: {
      name: machine.name,
      criSocket: 'unix:///run/containerd/containerd.sock',
      imagePullPolicy: 'IfNotPresent',
      kubeletExtraArgs,
      ...(taints === undefined ? {} : { taints }),
    },
  };
}

const CLUSTER = {
  ...KUBEADM_API,
  kind: 'ClusterConfiguration',
  kubernetesVersion: KUBERNETES_VERSION,
  controlPlaneEndpoint: `${nodeAddress(1)}:${API_PORT}`,
  networking: { podSubnet: POD_RANGE, serviceSubnet: SERVICE_RANGE },
  etcd: { local: { imageTag: ETCD_TAG } },
};

const KUBELET = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  failCgroupV1: false,
  failSwapOn: false,
  cgroupDriver: 'cgroupfs',
  // Images are loaded once: the kubelet could not pull one again.
  ...ON_SHARED_DISK,
};

const PROXY = {
  apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
  kind: 'KubeProxyConfiguration',
  // The lab may not set the machine's own parameters.
  conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
};
