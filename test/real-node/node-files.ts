import { existsSync } from 'node:fs';
import { API_SERVICE, KUBELET_PORT, nodeAddress, POD_RANGE, podRange } from './addresses.ts';

/** Where runc is: Debian's, or that of Docker's own packages. */
const RUNC_PLACES = ['/usr/sbin/runc', '/usr/bin/runc'];

/** The runc at hand; where there is none, that which Debian's package would bring. */
export function runcPath(): string {
  return RUNC_PLACES.find((file) => existsSync(file)) ?? '/usr/sbin/runc';
}

/*
 * The configuration of what a node runs. JSON, which all of them take where they say YAML; containerd alone has a language of its own.
 */

/** Where a node keeps its things; see the fields of {@link NodeFolders}. */
export interface NodeFolders {
  /** Everything, also what outlives a power cut. */
  readonly root: string;
  readonly containerd: string;
  readonly socket: string;
  readonly cni: string;
  readonly kubelet: string;
}

export function foldersIn(root: string): NodeFolders {
  return {
    root,
    containerd: `${root}/containerd`,
    socket: `${root}/containerd.sock`,
    cni: `${root}/cni`,
    kubelet: `${root}/kubelet`,
  };
}

/** Where a node's runtime looks for the configuration of the network, as seen from the node: a pod can put one there. */
export const CNI_FOLDER = '/run/cni';
export const CNI_FILE = '10-pods.conflist';
/** A name that no runtime reads. */
export const CNI_ASIDE = '10-pods.aside';

export const SANDBOX_IMAGE = 'localhost/busybox:1';

/** @param cni where the plugins of the network are, and their configuration */
export function containerdConfig(
  folders: Pick<NodeFolders, 'containerd' | 'socket'>,
  cni = { plugins: '/usr/lib/cni', configuration: CNI_FOLDER },
): string {
  return `version = 3
root = "${folders.containerd}/root"
state = "${folders.containerd}/state"
[grpc]
  address = "${folders.socket}"
[ttrpc]
  address = "${folders.socket}.ttrpc"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "${SANDBOX_IMAGE}"
[plugins.'io.containerd.cri.v1.runtime']
  # Without CAP_SYS_RESOURCE no process may lower its oom_score_adj, and runc ends with "can't get final child's PID from pipe: EOF".
  restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["${cni.plugins}"]
  conf_dir = "${cni.configuration}"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  SystemdCgroup = false
  BinaryName = "${runcPath()}"
`;
}

/** With hairpin, so that a pod reaches itself through its Service, as with most networks. */
export function cniConfig(folders: NodeFolders, number: number): string {
  return JSON.stringify({
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: 'pods',
        isGateway: true,
        ipMasq: false,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          dataDir: `${folders.root}/cni-ipam`,
          ranges: [[{ subnet: podRange(number) }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  });
}

/** A kubelet that shares the host's disk evicts no pod and removes no image, also when others have filled the disk. */
export const ON_SHARED_DISK = {
  evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
  imageGCHighThresholdPercent: 100,
};

export interface KubeletFiles {
  readonly cgroup: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export function kubeletConfig(
  folders: NodeFolders,
  number: number,
  files: KubeletFiles,
  changes: Readonly<Record<string, unknown>>,
): string {
  return JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    failSwapOn: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${files.cgroup}`,
    enforceNodeAllocatable: [],
    containerRuntimeEndpoint: `unix://${folders.socket}`,
    address: nodeAddress(number),
    port: KUBELET_PORT,
    healthzPort: 0,
    tlsCertFile: files.cert,
    tlsPrivateKeyFile: files.key,
    authentication: { x509: { clientCAFile: files.ca }, webhook: { enabled: true }, anonymous: { enabled: false } },
    authorization: { mode: 'Webhook' },
    staticPodPath: `${folders.root}/manifests`,
    podLogsDir: `${folders.root}/pod-logs`,
    clusterDomain: 'cluster.local',
    clusterDNS: ['10.45.0.10'],
    resolvConf: '',
    shutdownGracePeriod: '30s',
    shutdownGracePeriodCriticalPods: '15s',
    ...ON_SHARED_DISK,
    ...changes,
  });
}

export type ProxyMode = 'iptables' | 'nftables';

export function proxyConfig(mode: ProxyMode, kubeconfig: string): string {
  return JSON.stringify({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode,
    clientConnection: { kubeconfig },
    clusterCIDR: POD_RANGE,
    // The lab may not set the machine's own parameters.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  });
}

/** What the API server's certificate has to name. */
export const API_NAMES = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];
export const API_ADDRESSES = [nodeAddress(1), API_SERVICE];
