import type { Path } from '../../policy/problem.ts';

/** Where the kubelet's configuration is. */
export const KUBELET_CONFIGURATIONS: readonly { kind: string | undefined; path: Path }[] = [
  { kind: undefined, path: ['machine', 'kubelet', 'extraConfig'] },
  { kind: 'KubeletConfig', path: ['config'] },
];

/** Fields that Talos sets itself (ProtectedConfigurationFields of its pkg/machinery/kubelet, the same in 1.3 to 1.15). */
export const PROTECTED_FIELDS: readonly string[] = [
  'apiVersion',
  'authentication',
  'authorization',
  'cgroupRoot',
  'kind',
  'kubeletCgroups',
  'port',
  'protectKernelDefaults',
  'resolvConf',
  'rotateCertificates',
  'systemCgroups',
  'staticPodPath',
  'seccompDefault',
];

/** Flags that only the kubelet has, and that users often set for another component. */
export const KUBELET_FLAGS: readonly string[] =
  'register-with-taints node-labels node-ip max-pods cluster-dns cluster-domain rotate-server-certificates rotate-certificates register-node eviction-hard kube-reserved system-reserved cpu-manager-policy hostname-override'.split(
    ' ',
  );

/** Settings that are no fields of KubeletConfiguration, and where they belong. */
export const NOT_KUBELET_CONFIGURATION: ReadonlyMap<string, string> = new Map([
  ['nodeTaints', 'machine.nodeTaints, or registerWithTaints here'],
  ['nodeLabels', 'machine.nodeLabels'],
  ['register-with-taints', 'registerWithTaints: a list of { key, value, effect }'],
  ['node-labels', 'machine.nodeLabels'],
  ['allowSchedulingOnControlPlanes', 'cluster.allowSchedulingOnControlPlanes'],
  ['dnsDomain', 'cluster.network.dnsDomain'],
  ['podSubnets', 'cluster.network.podSubnets'],
  ['serviceSubnets', 'cluster.network.serviceSubnets'],
]);
