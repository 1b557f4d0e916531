import { parseAllDocuments } from 'yaml';
import { type Edit, edited } from './edits.ts';
import type { GeneratedConfigurations } from './generate.ts';

/** What taintkeeper finds: nothing; something that Talos or a program that it starts refuses; or else these findings, by severity and rule. */
type Lint = 'accepts' | 'refuses' | `${'no-effect' | 'deprecated'} ${string}`;

/** How a configuration differs from a generated one, and what is said of it. */
export type Configuration = Edit & {
  readonly what: string;
  /** Default: a worker. */
  readonly role?: 'control plane';
} & (
    | { readonly talos: 'accepts'; readonly lint: 'accepts' }
    /** A part of Talos' reason. */
    | { readonly refusal: string; readonly talos?: undefined; readonly lint?: undefined }
    /** Lint says less. */
    | { readonly refusal: string; readonly talos?: undefined; readonly lint: 'accepts'; readonly why: string }
    /** Lint says more. */
    | { readonly talos: 'accepts'; readonly lint: Exclude<Lint, 'accepts'>; readonly why: string }
  );

/** The text of a configuration. */
export function textOf({ role, ...edit }: Configuration, generated: GeneratedConfigurations): string {
  return edited(role === 'control plane' ? generated.controlPlane : generated.worker, edit);
}

/** An addition to the end of the first document's `machine`, as text. */
const underMachine = (lines: string) => (text: string) => text.replace(/^machine:\n/m, `machine:\n${lines}`);

const taints = (value: unknown) => ({ 'machine.nodeTaints': { dedicated: value } });
const labels = (value: unknown) => ({ 'machine.nodeLabels': value });
const kubeletArgs = (value: unknown) => ({ 'machine.kubelet.extraArgs': value });
const kubeletConfig = (value: unknown) => ({ 'machine.kubelet.extraConfig': value });

const LONG = 'x'.repeat(64);
const WORKER_TAINT = 'no-effect worker-taint';
const NODE_RESTRICTION = 'on a worker, Talos sets taints as the kubelet, and NodeRestriction refuses that';
const REGISTERS = 'the kubelet parses it when it registers the node, and does not start';

/** Fields of the kubelet's configuration that Talos keeps for itself. */
const PROTECTED = [
  ...['apiVersion', 'authentication', 'authorization', 'cgroupRoot', 'kind', 'kubeletCgroups', 'port'],
  ...['protectKernelDefaults', 'resolvConf', 'rotateCertificates', 'seccompDefault', 'staticPodPath', 'systemCgroups'],
];

/** Flags of the kubelet that Talos keeps for itself. */
const OWN_FLAGS = [
  ...['bootstrap-kubeconfig', 'cert-dir', 'config', 'container-runtime', 'container-runtime-endpoint', 'kubeconfig'],
];

/** Documents that came with Talos 1.14. */
const NEWER_DOCUMENTS: Readonly<Record<string, string>> = {
  'a KubeNodeConfig': 'apiVersion: v1alpha1\nkind: KubeNodeConfig\nlabels:\n  pool: gpu\n',
  'a KubeNodeConfig with taints': 'apiVersion: v1alpha1\nkind: KubeNodeConfig\ntaints:\n  dedicated: gpu:NoSchedule\n',
  'a KubeNodeConfig whose taints are a list':
    'apiVersion: v1alpha1\nkind: KubeNodeConfig\ntaints:\n  - dedicated=gpu:NoSchedule\n',
  'a KubeNodeConfig with a taint that cannot be parsed':
    'apiVersion: v1alpha1\nkind: KubeNodeConfig\ntaints:\n  dedicated: gpu\n',
  'a KubeNodeConfig with a label that cannot be parsed':
    'apiVersion: v1alpha1\nkind: KubeNodeConfig\nlabels:\n  pool: g p u\n',
  'a KubeNodeConfig with a field that it does not have':
    'apiVersion: v1alpha1\nkind: KubeNodeConfig\nnodeLabels:\n  pool: gpu\n',
  'a KubeletConfig': 'apiVersion: v1alpha1\nkind: KubeletConfig\nconfig:\n  maxPods: 50\n',
  'a KubeAPIServerConfig': 'apiVersion: v1alpha1\nkind: KubeAPIServerConfig\ncertExtraSANs:\n  - api.example.com\n',
};

/** Configurations of Talos 1.13. */
export const CONFIGURATIONS: readonly Configuration[] = [
  // As generated.
  { what: 'a worker as generated', talos: 'accepts', lint: 'accepts' },
  { what: 'a control plane as generated', role: 'control plane', talos: 'accepts', lint: 'accepts' },

  // Taints.
  {
    what: 'a taint on a control plane',
    role: 'control plane',
    set: taints('gpu:NoSchedule'),
    talos: 'accepts',
    lint: 'accepts',
  },
  {
    what: 'a taint on a worker',
    set: taints('gpu:NoSchedule'),
    talos: 'accepts',
    lint: WORKER_TAINT,
    why: NODE_RESTRICTION,
  },
  {
    what: 'a NoExecute taint on a worker',
    set: taints('gpu:NoExecute'),
    talos: 'accepts',
    lint: WORKER_TAINT,
    why: NODE_RESTRICTION,
  },
  {
    what: 'a taint on a worker whose kubelet does not register the node',
    set: { ...taints('gpu:NoSchedule'), 'machine.kubelet.skipNodeRegistration': true },
    talos: 'accepts',
    lint: WORKER_TAINT,
    why: NODE_RESTRICTION,
  },
  {
    what: 'a taint without a value',
    role: 'control plane',
    set: taints('NoSchedule'),
    talos: 'accepts',
    lint: 'accepts',
  },
  {
    what: 'a taint with an empty value',
    role: 'control plane',
    set: taints(':NoSchedule'),
    talos: 'accepts',
    lint: 'accepts',
  },
  { what: 'no taints', set: { 'machine.nodeTaints': null }, talos: 'accepts', lint: 'accepts' },
  { what: 'a taint with an empty effect', set: taints('gpu:'), refusal: 'invalid taint effect: ""' },
  { what: 'an empty taint', set: taints(''), refusal: 'invalid taint effect: ""' },
  { what: 'a taint that is null', set: taints(null), refusal: 'invalid taint effect: ""' },
  { what: 'a taint that is a boolean', set: taints(true), refusal: 'invalid taint effect: "true"' },
  { what: 'a taint without an effect', set: taints('gpu'), refusal: 'invalid taint effect: "gpu"' },
  { what: 'a misspelled effect', set: taints('gpu:NoScheduled'), refusal: 'invalid taint effect: "NoScheduled"' },
  { what: 'an effect in lower case', set: taints('gpu:noschedule'), refusal: 'invalid taint effect: "noschedule"' },
  { what: 'a taint with two colons', set: taints('gpu:x:NoSchedule'), refusal: 'invalid taint effect: "x:NoSchedule"' },
  { what: 'a space before the effect', set: taints('gpu: NoSchedule'), refusal: 'invalid taint effect: " NoSchedule"' },
  { what: 'a space before the value', set: taints(' gpu:NoSchedule'), refusal: 'label value " gpu" is invalid' },
  {
    what: "a taint in kubectl's notation",
    set: taints('dedicated=gpu:NoSchedule'),
    refusal: 'label value "dedicated=gpu" is invalid',
  },
  { what: 'a value with a slash', set: taints('a/b:NoSchedule'), refusal: 'label value "a/b" is invalid' },
  { what: 'a value of 64 characters', set: taints(`${LONG}:NoSchedule`), refusal: 'exceeds limit of 63' },
  {
    what: 'a key with a space',
    set: { 'machine.nodeTaints': { 'dedi cated': 'gpu:NoSchedule' } },
    refusal: 'name "dedi cated" is invalid',
  },
  {
    what: 'a key with a colon',
    set: { 'machine.nodeTaints': { 'dedicated:x': 'gpu:NoSchedule' } },
    refusal: 'name "dedicated:x" is invalid',
  },
  {
    what: 'a key with two slashes',
    set: { 'machine.nodeTaints': { 'a/b/c': 'gpu:NoSchedule' } },
    refusal: 'too many slashes: "a/b/c"',
  },
  {
    what: 'a key with a prefix in upper case',
    set: { 'machine.nodeTaints': { 'Example.com/dedicated': 'gpu:NoSchedule' } },
    refusal: 'prefix "Example.com" is invalid',
  },
  {
    what: 'taints as a list',
    set: { 'machine.nodeTaints': ['dedicated=gpu:NoSchedule'] },
    refusal: 'cannot construct !!seq into map[string]string',
  },
  {
    what: 'a taint with fields',
    set: taints({ value: 'gpu', effect: 'NoSchedule' }),
    refusal: 'cannot construct !!map into string',
  },
  {
    what: 'a directive of patches that is left among the taints',
    set: { 'machine.nodeTaints': { $patch: 'delete' } },
    refusal: 'name "$patch" is invalid',
  },
  {
    what: "a control plane with its own taint's key",
    role: 'control plane',
    set: { 'machine.nodeTaints': { 'node-role.kubernetes.io/control-plane': 'NoSchedule' } },
    talos: 'accepts',
    lint: 'accepts',
  },
  {
    what: 'the same where ordinary pods are allowed',
    role: 'control plane',
    set: {
      'machine.nodeTaints': { 'node-role.kubernetes.io/control-plane': 'NoSchedule' },
      'cluster.allowSchedulingOnControlPlanes': true,
    },
    talos: 'accepts',
    lint: 'no-effect control-plane-taint',
    why: 'ordinary pods stay away all the same',
  },

  // Fields in the wrong place, and fields that are none.
  {
    what: 'taints of the cluster',
    set: { 'cluster.nodeTaints': { a: 'b:NoSchedule' } },
    refusal: 'unknown keys found',
  },
  { what: 'labels of the cluster', set: { 'cluster.nodeLabels': { pool: 'gpu' } }, refusal: 'unknown keys found' },
  { what: 'labels of the kubelet', set: { 'machine.kubelet.nodeLabels': { a: 'b' } }, refusal: 'unknown keys found' },
  {
    what: 'allowSchedulingOnControlPlanes of the machine',
    set: { 'machine.allowSchedulingOnControlPlanes': true },
    refusal: 'unknown keys found',
  },
  { what: 'an unknown section', set: { foo: 1 }, refusal: 'unknown keys found' },
  { what: 'an unknown field', set: { 'machine.nodeAnnotation': { a: 'b' } }, refusal: 'unknown keys found' },
  { what: 'an unknown field of the kubelet', set: { 'machine.kubelet.extraArg': {} }, refusal: 'unknown keys found' },
  { what: 'a field in lower case', set: { 'machine.nodelabels': { a: 'b' } }, refusal: 'unknown keys found' },
  {
    what: 'names for a certificate of the kubelet',
    set: { 'machine.kubelet.certSANs': ['api.example.com'] },
    refusal: 'unknown keys found',
  },
  {
    what: "names for the API server's certificate on a worker",
    set: { 'cluster.apiServer': { certSANs: ['api.example.com'] } },
    talos: 'accepts',
    lint: 'no-effect certificate-names',
    why: 'only control planes serve the Kubernetes API',
  },

  // What control planes allow.
  {
    what: 'ordinary pods on control planes',
    role: 'control plane',
    set: { 'cluster.allowSchedulingOnControlPlanes': true },
    talos: 'accepts',
    lint: 'accepts',
  },
  {
    what: 'the same by its former name',
    role: 'control plane',
    set: { 'cluster.allowSchedulingOnMasters': true },
    talos: 'accepts',
    lint: 'deprecated deprecated-field',
    why: 'a later Talos may not read it',
  },
  {
    what: 'the arguments of the API server on a worker',
    set: { 'cluster.apiServer': { extraArgs: { v: '2' } } },
    talos: 'accepts',
    lint: 'accepts',
  },
  {
    what: 'etcd on a worker',
    set: { 'cluster.etcd': { subnet: '10.99.0.0/24' } },
    refusal: 'etcd config is only allowed on control plane machines',
  },

  // Roles and required sections.
  {
    what: 'a role that Talos does not have',
    set: { 'machine.type': 'master' },
    refusal: 'unknown machine type "master"',
  },
  {
    what: 'the role of the first control plane',
    role: 'control plane',
    set: { 'machine.type': 'init' },
    talos: 'accepts',
    lint: 'accepts',
  },
  {
    what: 'the role of a control plane, without its keys',
    set: { 'machine.type': 'controlplane' },
    refusal: 'issuing CA key is required for controlplane nodes',
    lint: 'accepts',
    why: 'lint reads no secrets: tools such as SOPS add them later',
  },
  { what: 'a worker by its former name', set: { 'machine.type': 'join' }, talos: 'accepts', lint: 'accepts' },
  { what: 'no role', set: { 'machine.type': undefined }, talos: 'accepts', lint: 'accepts' },
  { what: 'no cluster', set: { cluster: undefined }, refusal: 'cluster instructions are required' },
  {
    what: 'no endpoint of the cluster',
    set: { 'cluster.controlPlane': undefined },
    refusal: 'cluster controlplane endpoint is required',
  },
  { what: 'no token', set: { 'machine.token': undefined }, talos: 'accepts', lint: 'accepts' },
  { what: 'no image of the kubelet', set: { 'machine.kubelet.image': undefined }, talos: 'accepts', lint: 'accepts' },
  {
    what: 'an older kubelet',
    set: { 'machine.kubelet.image': 'ghcr.io/siderolabs/kubelet:v1.31.0' },
    talos: 'accepts',
    lint: 'accepts',
  },
  {
    what: 'a setting of the kernel that is a number',
    set: { 'machine.sysctls': { 'vm.max_map_count': 262144 } },
    talos: 'accepts',
    lint: 'accepts',
  },
  { what: 'a configuration that is not kept', set: { persist: false }, refusal: '.persist should be enabled' },

  // Labels and annotations.
  { what: 'a label that is a number', set: labels({ rack: 7 }), talos: 'accepts', lint: 'accepts' },
  { what: 'a label that is a boolean', set: labels({ ssd: true }), talos: 'accepts', lint: 'accepts' },
  { what: 'a label with a space', set: labels({ pool: 'g p u' }), refusal: 'label value "g p u" is invalid' },
  { what: 'a label of 64 characters', set: labels({ pool: LONG }), refusal: 'exceeds limit of 63' },
  { what: "a space in a label's key", set: labels({ 'po ol': 'gpu' }), refusal: 'name "po ol" is invalid' },
  { what: 'a label with an empty key', set: labels({ '': 'gpu' }), refusal: 'name cannot be empty' },
  {
    what: 'a role as a label of a worker',
    set: labels({ 'node-role.kubernetes.io/worker': '' }),
    talos: 'accepts',
    lint: 'no-effect worker-label',
    why: 'a kubelet may not set this label on its node',
  },
  {
    what: 'a label that is kept from kubelets',
    set: labels({ 'node-restriction.kubernetes.io/pool': 'gpu' }),
    talos: 'accepts',
    lint: 'no-effect worker-label',
    why: 'a kubelet may not set this label on its node',
  },
  {
    what: 'the same on a control plane',
    role: 'control plane',
    set: labels({ 'node-restriction.kubernetes.io/pool': 'gpu' }),
    talos: 'accepts',
    lint: 'accepts',
  },
  {
    what: 'an annotation',
    set: { 'machine.nodeAnnotations': { 'example.com/a': 'b c' } },
    talos: 'accepts',
    lint: 'accepts',
  },
  {
    what: "a space in an annotation's key",
    set: { 'machine.nodeAnnotations': { 'po ol': 'x' } },
    refusal: 'name "po ol" is invalid',
  },

  // Arguments and configuration of the kubelet.
  { what: 'an argument', set: kubeletArgs({ v: '2' }), talos: 'accepts', lint: 'accepts' },
  { what: 'an argument that is a number', set: kubeletArgs({ v: 2 }), talos: 'accepts', lint: 'accepts' },
  {
    what: 'an argument that is a list',
    set: kubeletArgs({ 'node-labels': ['a=b', 'c=d'] }),
    refusal: 'unexpected type for yaml sequence: v1alpha1.ArgValue',
  },
  { what: 'arguments as a list', set: kubeletArgs(['--v=2']), refusal: 'cannot construct !!seq into v1alpha1.Args' },
  {
    what: 'an argument with fields',
    set: kubeletArgs({ v: { a: 'b' } }),
    refusal: 'arg value must be a string or list of strings',
  },
  {
    what: 'an argument of the API server that is a list',
    role: 'control plane',
    set: { 'cluster.apiServer.extraArgs': { 'audit-policy-file': ['a', 'b'] } },
    refusal: 'unexpected type for yaml sequence: v1alpha1.ArgValue',
  },
  {
    what: 'an argument of etcd that is a list',
    role: 'control plane',
    set: { 'cluster.etcd.extraArgs': { 'election-timeout': ['5000'] } },
    refusal: 'unexpected type for yaml sequence: v1alpha1.ArgValue',
  },
  {
    what: 'a taint to register with',
    set: kubeletArgs({ 'register-with-taints': 'dedicated=gpu:NoSchedule' }),
    talos: 'accepts',
    lint: 'accepts',
  },
  {
    what: 'a taint to register with, in the notation of Talos',
    set: kubeletArgs({ 'register-with-taints': 'gpu:NoScheduled' }),
    talos: 'accepts',
    lint: 'refuses',
    why: REGISTERS,
  },
  ...OWN_FLAGS.map(
    (flag): Configuration => ({
      what: `the flag ${flag} of the kubelet`,
      set: kubeletArgs({ [flag]: '/var/x' }),
      talos: 'accepts',
      lint: 'refuses',
      why: 'Talos sets it, and does not start the kubelet: extra arg is not allowed',
    }),
  ),
  {
    what: 'taints to register with, in the configuration of the kubelet',
    set: kubeletConfig({ registerWithTaints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }] }),
    talos: 'accepts',
    lint: 'accepts',
  },
  {
    what: 'the same as texts',
    set: kubeletConfig({ registerWithTaints: ['dedicated=gpu:NoSchedule'] }),
    talos: 'accepts',
    lint: 'refuses',
    why: REGISTERS,
  },
  {
    what: 'the same with a misspelled effect',
    set: kubeletConfig({ registerWithTaints: [{ key: 'dedicated', effect: 'NoScheduled' }] }),
    talos: 'accepts',
    lint: 'refuses',
    why: REGISTERS,
  },
  {
    what: 'a field that the configuration of the kubelet does not have',
    set: kubeletConfig({ foo: 1 }),
    talos: 'accepts',
    lint: 'refuses',
    why: 'no change reaches the kubelet any more: strict decoding error: unknown field "foo"',
  },
  ...PROTECTED.map(
    (field): Configuration => ({
      what: `${field} in the configuration of the kubelet`,
      set: kubeletConfig({ [field]: 'x' }),
      refusal: `kubelet configuration field "${field}" can't be overridden`,
    }),
  ),

  // Documents.
  ...Object.entries(NEWER_DOCUMENTS).map(
    ([what, document]): Configuration => ({ what, and: document, refusal: 'not registered' }),
  ),
  {
    what: 'a KubeNodeConfig on a control plane',
    role: 'control plane',
    and: NEWER_DOCUMENTS['a KubeNodeConfig'] ?? '',
    refusal: 'not registered',
  },
  {
    what: 'a document of an unknown kind',
    and: 'apiVersion: v1alpha1\nkind: FooConfig\nname: x\n',
    refusal: 'not registered',
  },
  {
    what: 'a document of an unknown version',
    and: 'apiVersion: v1beta1\nkind: TimeSyncConfig\n',
    refusal: 'not registered',
  },
  { what: 'a document without a kind', and: 'apiVersion: v1alpha1\nname: x\n', refusal: 'unknown keys found' },
  {
    what: 'a second machine configuration',
    and: 'version: v1alpha1\nmachine:\n  type: worker\n',
    refusal: 'duplicate document',
  },
  {
    what: 'a document twice',
    and: 'apiVersion: v1alpha1\nkind: TimeSyncConfig\n---\napiVersion: v1alpha1\nkind: TimeSyncConfig\n',
    refusal: 'duplicate document',
    lint: 'accepts',
    why: 'lint knows this only of documents that concern nodes',
  },
  {
    what: 'a host name in both forms',
    set: { 'machine.network': { hostname: 'a' } },
    edit: (text) => text.replace(/^auto: \w+$/m, 'hostname: b\nauto: off'),
    refusal: 'static hostname is already set in v1alpha1 config',
  },
  { what: 'an empty document', and: '\n', talos: 'accepts', lint: 'accepts' },
  { what: 'a document of comments', and: '# Nothing.\n', talos: 'accepts', lint: 'accepts' },
  {
    what: 'an unknown field of a document',
    and: 'apiVersion: v1alpha1\nkind: VLANConfig\nname: eth0.5\nvlanID: 5\nparent: eth0\nfoo: 1\n',
    refusal: 'unknown keys found',
  },
  {
    what: 'two documents for one link',
    and: 'apiVersion: v1alpha1\nkind: BondConfig\nname: bond0\nlinks: [eth0, eth1]\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: bond0\n',
    refusal: 'conflicting documents',
  },
  {
    what: 'a mirror of a registry',
    and: 'apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: docker.io\nendpoints:\n  - url: https://mirror.example.com\n',
    talos: 'accepts',
    lint: 'accepts',
  },
  { what: 'no registries', set: { 'machine.registries': {} }, talos: 'accepts', lint: 'accepts' },
  {
    what: 'a mirror of a registry by its former field',
    set: { 'machine.registries': { mirrors: { 'docker.io': { endpoints: ['https://mirror.example.com'] } } } },
    talos: 'accepts',
    lint: 'deprecated deprecated-field',
    why: 'a later Talos may not read it',
  },

  // YAML.
  {
    what: 'a key twice',
    edit: underMachine('  nodeLabels:\n    a: b\n  nodeLabels:\n    c: d\n'),
    refusal: 'already defined',
  },
  { what: 'no YAML', edit: (text) => `${text}\nfoo: [\n`, refusal: 'decode error' },
  {
    what: 'a tab before a comment',
    edit: underMachine('  nodeLabels:\n    pool: gpu\n\t# The pool.\n'),
    refusal: 'found a tab character',
  },
  {
    what: 'an anchor',
    edit: underMachine('  nodeLabels: &own\n    pool: gpu\n  nodeAnnotations: *own\n'),
    talos: 'accepts',
    lint: 'accepts',
  },
  {
    what: 'a merge key',
    edit: underMachine('  nodeLabels: &own\n    pool: gpu\n  nodeAnnotations:\n    <<: *own\n    rack: "7"\n'),
    talos: 'accepts',
    lint: 'accepts',
  },
  { what: 'a byte order mark', edit: (text) => `\ufeff${text}`, talos: 'accepts', lint: 'accepts' },
  {
    what: 'the line ends of Windows',
    edit: (text) => text.replaceAll('\n', '\r\n'),
    talos: 'accepts',
    lint: 'accepts',
  },
  {
    what: 'JSON',
    edit: (text) => JSON.stringify(parseAllDocuments(text)[0]?.toJSON()),
    talos: 'accepts',
    lint: 'accepts',
  },
  { what: 'yes for a boolean', edit: underMachine('  nodeLabels:\n    ssd: yes\n'), talos: 'accepts', lint: 'accepts' },
  { what: 'an octal number', edit: underMachine('  nodeLabels:\n    rack: 010\n'), talos: 'accepts', lint: 'accepts' },
];
