import type { Edit } from './edits.ts';

/** What Talos does with a changed configuration. */
export type Effect = 'nothing' | 'no reboot' | 'reboot' | 'refused';

/** A change of a configuration that is in force. */
export type Change = Edit & {
  readonly what: string;
  readonly effect: Effect;
  /** What the doctor says, where that is not the same: `why` has the reason. */
  readonly foretold?: Effect;
  /** Where the roles differ. */
  readonly only?: 'worker' | 'control plane';
  readonly why?: string;
};

const set = (what: string, path: string, value: unknown, effect: Effect): Change => ({
  what,
  set: { [path]: value },
  effect,
});
const and = (what: string, document: string, effect: Effect): Change => ({
  what,
  and: `apiVersion: v1alpha1\n${document}`,
  effect,
});

/** Changes of the configurations that Talos 1.13 generates. */
export const CHANGES: readonly Change[] = [
  { what: 'no change', effect: 'nothing' },

  // Nodes and kubelets.
  set('a label', 'machine.nodeLabels', { pool: 'gpu' }, 'no reboot'),
  set('a taint', 'machine.nodeTaints', { dedicated: 'gpu:NoSchedule' }, 'no reboot'),
  set('an annotation', 'machine.nodeAnnotations', { 'example.com/a': 'b' }, 'no reboot'),
  set('an argument of the kubelet', 'machine.kubelet.extraArgs', { v: '3' }, 'no reboot'),
  set('a setting of the kubelet', 'machine.kubelet.extraConfig', { maxPods: 50 }, 'no reboot'),
  set("the kubelet's image", 'machine.kubelet.image', 'ghcr.io/siderolabs/kubelet:v1.35.0', 'no reboot'),
  set("the node's whole name", 'machine.kubelet.registerWithFQDN', true, 'no reboot'),
  set('no registration', 'machine.kubelet.skipNodeRegistration', true, 'no reboot'),

  // The machine.
  set('rules of udev', 'machine.udev', { rules: ['SUBSYSTEM=="drm", MODE="0660"'] }, 'reboot'),
  set('no rules of udev', 'machine.udev', {}, 'reboot'),
  set('an environment variable', 'machine.env', { GRPC_GO_LOG_SEVERITY_LEVEL: 'info' }, 'reboot'),
  set(
    'a file',
    'machine.files',
    [{ path: '/var/example', op: 'create', permissions: 0o600, content: 'example' }],
    'reboot',
  ),
  set('the token', 'machine.token', 'abcdef.0123456789abcdef', 'reboot'),
  set('no roles', 'machine.features.rbac', false, 'reboot'),
  set('no check of certificates', 'machine.features.apidCheckExtKeyUsage', false, 'reboot'),
  set('no quotas of disks', 'machine.features.diskQuotaSupport', false, 'reboot'),
  set('another port of KubePrism', 'machine.features.kubePrism.port', 7446, 'no reboot'),
  set('names of members in the DNS of the host', 'machine.features.hostDNS.resolveMemberNames', false, 'no reboot'),
  set(
    'encryption of disks',
    'machine.systemDiskEncryption',
    { ephemeral: { provider: 'luks2', keys: [{ slot: 0, nodeID: {} }] } },
    'reboot',
  ),
  set('a runtime without a limit', 'machine.baseRuntimeSpecOverrides', { process: { rlimits: [] } }, 'reboot'),
  set('a setting of the kernel', 'machine.sysctls', { 'net.ipv4.ip_forward': '1' }, 'no reboot'),
  {
    ...set('no settings of the kernel', 'machine.sysctls', {}, 'nothing'),
    foretold: 'no reboot',
    why: 'for the doctor, a default that is written out counts as a change: docs/reference/cli.md',
  },
  set('a setting of sysfs', 'machine.sysfs', { 'module.example': '1' }, 'no reboot'),
  set('a module of the kernel', 'machine.kernel', { modules: [{ name: 'br_netfilter' }] }, 'no reboot'),
  set('a time server', 'machine.time', { servers: ['time.example.com'] }, 'no reboot'),
  set('no time servers', 'machine.time', {}, 'no reboot'),
  set('a name for its certificate', 'machine.certSANs', ['api.example.com'], 'no reboot'),
  set('a name server', 'machine.network', { nameservers: ['10.99.0.253'] }, 'no reboot'),
  set('an interface', 'machine.network', { interfaces: [{ interface: 'eth7', dhcp: true }] }, 'no reboot'),
  set('another disk to install on', 'machine.install.disk', '/dev/sdb', 'no reboot'),
  set('arguments of the kernel', 'machine.install.extraKernelArgs', ['quiet'], 'no reboot'),
  set(
    'logs to another machine',
    'machine.logging',
    { destinations: [{ endpoint: 'udp://10.99.0.253:514', format: 'json_lines' }] },
    'no reboot',
  ),
  set('a profile of seccomp', 'machine.seccompProfiles', [{ name: 'audit.json', value: {} }], 'no reboot'),
  set(
    'a static pod',
    'machine.pods',
    [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { containers: [{ name: 'a', image: 'a' }] } }],
    'no reboot',
  ),
  set('no components of the control plane', 'machine.controlPlane', {}, 'no reboot'),
  set('debugging', 'debug', true, 'no reboot'),
  {
    ...set('an empty mapping of registries', 'machine.registries', {}, 'nothing'),
    why: 'talosctl gen config writes it itself, and Talos has no difference to show',
  },
  set(
    'a mirror of a registry',
    'machine.registries',
    { mirrors: { 'docker.io': { endpoints: ['https://mirror.example.com'] } } },
    'no reboot',
  ),

  // The cluster.
  set("the cluster's name", 'cluster.clusterName', 'another', 'no reboot'),
  set("the cluster's endpoint", 'cluster.controlPlane.endpoint', 'https://10.99.0.253:6443', 'no reboot'),
  set('the ranges of pods', 'cluster.network.podSubnets', ['10.200.0.0/16'], 'no reboot'),
  set('arguments of the API server', 'cluster.apiServer', { extraArgs: { v: '3' } }, 'no reboot'),
  set("the cluster's token", 'cluster.token', 'abcdef.0123456789abcdef', 'no reboot'),
  set('no discovery', 'cluster.discovery', { enabled: false }, 'no reboot'),
  set('ordinary pods on control planes', 'cluster.allowSchedulingOnControlPlanes', true, 'no reboot'),
  {
    ...set('a network of etcd', 'cluster.etcd', { advertisedSubnets: ['10.99.0.0/24'] }, 'refused'),
    only: 'worker',
  },

  // Documents.
  and('name servers as a document', 'kind: ResolverConfig\nnameservers:\n  - address: 10.99.0.253\n', 'no reboot'),
  and('a variable as a document', 'kind: EnvironmentConfig\nvariables:\n  EXAMPLE: "1"\n', 'no reboot'),
  and('logs of the kernel', 'kind: KmsgLogConfig\nname: far\nurl: udp://10.99.0.253:514\n', 'no reboot'),
  and('a document of a later Talos', 'kind: KubeNodeConfig\nlabels:\n  pool: gpu\n', 'refused'),

  // What Talos refuses.
  set('an unknown field', 'machine.foo', 1, 'refused'),
  set('a taint without an effect', 'machine.nodeTaints', { dedicated: 'gpu' }, 'refused'),
  set("a space in an annotation's key", 'machine.nodeAnnotations', { 'po ol': 'x' }, 'refused'),
  set('an argument that is a list', 'machine.kubelet.extraArgs', { 'node-labels': ['a=b', 'c=d'] }, 'refused'),
  set('arguments as a list', 'machine.kubelet.extraArgs', ['--v=3'], 'refused'),
  set('a field that Talos keeps for itself', 'machine.kubelet.extraConfig', { staticPodPath: '/x' }, 'refused'),
  set('a configuration that is not kept', 'persist', false, 'refused'),
  { ...set('the role of a control plane', 'machine.type', 'controlplane', 'refused'), only: 'worker' },
  set('no endpoint', 'cluster.controlPlane', undefined, 'refused'),
  set('no cluster', 'cluster', undefined, 'refused'),
];
