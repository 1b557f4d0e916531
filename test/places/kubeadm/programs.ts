import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, type GoModule, lockedVersion, unbuilt } from '../../control-plane/go-modules.ts';
import { HELM } from '../../control-plane/helm.ts';
import { KUBERNETES } from '../../control-plane/kubernetes.ts';
import { nodeProgramFolders } from '../../control-plane/node-programs.ts';
import { whyNotBuilt } from '../../control-plane/not-built.ts';

const folder = (name: string) => join(import.meta.dirname, 'go', name);

const KUBEADM: GoModule = {
  folder: folder('kubeadm'),
  packages: { kubeadm: 'k8s.io/kubernetes/cmd/kubeadm' },
  linkerVariables: KUBERNETES.linkerVariables,
};

/** Flannel with its chart. */
const FLANNEL: GoModule = {
  folder: folder('flannel'),
  packages: {
    flanneld: 'github.com/flannel-io/flannel',
    'install-conf': 'github.com/flannel-io/flannel/cmd/install_conf',
  },
  files: ['chart/kube-flannel'],
  patches: ['tencentvpc', 'udp'].map((backend) => ({
    file: 'main.go',
    from: `\t_ "github.com/flannel-io/flannel/pkg/backend/${backend}"\n`,
    to: '',
  })),
  linkerVariables: (version) => ({ 'github.com/flannel-io/flannel/pkg/version.Version': version }),
};

const FLANNEL_CNI: GoModule = {
  folder: folder('flannel-cni'),
  packages: { 'flannel-cni': 'github.com/containernetworking/plugins/plugins/meta/flannel' },
  linkerVariables: () => ({}),
};

/** The plugins that kubeadm's Corefile names. */
const DNS_PLUGINS = [
  ...['cache', 'errors', 'forward', 'health', 'kubernetes', 'loadbalance', 'loop', 'metrics', 'ready', 'reload'],
];

const COREDNS: GoModule = {
  folder: folder('coredns'),
  packages: { coredns: 'github.com/coredns/coredns' },
  patches: [
    {
      file: 'coredns.go',
      from: '\t_ "github.com/coredns/coredns/core/plugin" // Plug in CoreDNS.\n',
      to: DNS_PLUGINS.map((plugin) => `\t_ "github.com/coredns/coredns/plugin/${plugin}"\n`).join(''),
    },
  ],
  linkerVariables: () => ({}),
};

/** To what `kubeadm upgrade` brings a cluster: the same minor version, because a kubelet may be of an older patch. */
const NEXT_PATCH: GoModule = {
  folder: folder('next-patch'),
  packages: Object.fromEntries(
    ['kubeadm', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy'].map((name) => [
      name,
      `k8s.io/kubernetes/cmd/${name}`,
    ]),
  ),
  linkerVariables: KUBERNETES.linkerVariables,
};

/** What a cluster of kubeadm's has besides the programs of real nodes. */
const OWN = [KUBEADM, FLANNEL, FLANNEL_CNI, COREDNS];
export const KUBEADM_MODULES = [...OWN, NEXT_PATCH];

/** As kubeadm names it, such as `v1.36.1`. */
export const KUBERNETES_VERSION = lockedVersion(KUBERNETES, 'kube-apiserver');
export const NEXT_VERSION = lockedVersion(NEXT_PATCH, 'kubeadm');
export const FLANNEL_VERSION = lockedVersion(FLANNEL, 'flanneld');
export const COREDNS_VERSION = lockedVersion(COREDNS, 'coredns');
export const ETCD_VERSION = lockedVersion(KUBERNETES, 'etcd');

/** Why one of these programs, or Helm, is not there, if so. */
export function obstacleToKubeadm(): string | undefined {
  return firstUnbuilt([...OWN, HELM]);
}

/** Why no cluster can be upgraded to {@link NEXT_VERSION}, if so. */
export function obstacleToUpgrade(): string | undefined {
  return firstUnbuilt([NEXT_PATCH]);
}

function firstUnbuilt(modules: readonly GoModule[]): string | undefined {
  const command = 'npm run test:places -- kubeadm';
  return modules.flatMap((module) => unbuilt(module).map((program) => whyNotBuilt(module, program, command)))[0];
}

/** The path of a program, or of one of the files of its module. @throws Error when it is not built */
export function programPath(name: string): string {
  return findProgram(name, [cacheFolder(KUBERNETES), ...nodeProgramFolders(), ...OWN.map(cacheFolder)]);
}

/** The same, of {@link NEXT_VERSION}. */
export function nextProgramPath(name: string): string {
  return findProgram(name, [cacheFolder(NEXT_PATCH)]);
}

function findProgram(name: string, folders: readonly string[]): string {
  const found = folders.map((one) => join(one, name)).find((file) => existsSync(file));
  if (!found) throw new Error(`there is no ${name}`);
  return found;
}
