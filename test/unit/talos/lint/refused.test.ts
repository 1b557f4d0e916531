import { describe, expect, it } from 'vitest';
import { inShort, lintText } from './linted-files.ts';

const worker = (rest: string) => `machine:\n  type: worker\n  ${rest.replaceAll('\n', '\n  ')}\n`;
const kubelet = (rest: string) => worker(`kubelet:\n  ${rest.replaceAll('\n', '\n  ')}`);
const whole = (rest = '') => `version: v1alpha1\nmachine:\n  type: worker\n  ca: { crt: YQ== }\n${rest}`;
const CLUSTER = 'cluster: { controlPlane: { endpoint: "https://k8s.example.com:6443" } }\n';

interface Case {
  readonly why: string;
  readonly text: string;
  /** `rule field` of each `refused` finding for Talos 1.13.0. */
  readonly found: readonly string[];
}

// What Talos 1.13.0 answers to each was tried: `talosctl validate`, the controller that writes the kubelet's configuration, or the kubelet.
const CASES: readonly Case[] = [
  { why: 'a text for a section', text: 'machine: worker\n', found: ['wrong-type machine'] },
  {
    why: 'a list for a section',
    text: 'machine: { type: worker, kubelet: [] }\n',
    found: ['wrong-type machine.kubelet'],
  },
  { why: 'a text for a section', text: worker('install: /dev/sda'), found: ['wrong-type machine.install'] },
  { why: 'a text for a list', text: worker('certSANs: 10.0.0.1'), found: ['wrong-type machine.certSANs'] },
  {
    why: 'a mapping for a list of mappings',
    text: worker('network: { interfaces: { eth0: { dhcp: true } } }'),
    found: ['wrong-type machine.network.interfaces'],
  },
  {
    why: 'a list of texts for a list of mappings',
    text: worker('network: { interfaces: [eth0] }'),
    found: ['wrong-type machine.network.interfaces[0]'],
  },
  {
    why: 'a list for the value of a label',
    text: worker('nodeLabels: { a: [b], c: d }'),
    found: ['wrong-type machine.nodeLabels.a'],
  },
  {
    why: 'a boolean that is none',
    text: worker('time: { disabled: perhaps }'),
    found: ['wrong-type machine.time.disabled'],
  },
  { why: "a boolean of YAML 1.1, which Go's parser knows", text: worker('time: { disabled: "yes" }'), found: [] },
  {
    why: 'a number in quotes',
    text: worker('features: { kubePrism: { port: "7445" } }'),
    found: ['wrong-type machine.features.kubePrism.port'],
  },
  { why: 'a number for a text', text: worker('sysctls: { vm.swappiness: 10 }'), found: [] },
  ...['0b101', '0B101', '0o17', '0O17', '0777', '0X1F', '0x_1F', '+0x1F', '1_000', '0b1_0', '1e3', '1.0'].map(
    (number): Case => ({
      why: `${number}, a whole number`,
      text: worker(`features: { kubePrism: { port: ${number} } }`),
      found: [],
    }),
  ),
  ...['-0b101', '-0o17', '-0x1F', '-1_000'].map(
    (number): Case => ({
      why: `${number}, a number below 0, where only others are`,
      text: worker(`features: { kubePrism: { port: ${number} } }\nfiles: [{ permissions: ${number} }]`),
      found: ['wrong-type machine.files[0].permissions'],
    }),
  ),
  ...['1_000.5', '0b12', '0x1p4', '_1', '"1_000"', '!!str 0b101'].map(
    (other): Case => ({
      why: `${other}, no whole number`,
      text: worker(`features: { kubePrism: { port: ${other} } }`),
      found: ['wrong-type machine.features.kubePrism.port'],
    }),
  ),
  {
    why: 'a duration without a unit',
    text: worker('time: { bootTimeout: 30 }'),
    found: ['wrong-type machine.time.bootTimeout'],
  },
  {
    why: 'each wrong field is one finding',
    text: worker('install: a\ntime: b\nfiles: c'),
    found: ['wrong-type machine.install', 'wrong-type machine.time', 'wrong-type machine.files'],
  },
  { why: 'a field without a value is absent', text: worker('install:\nkubelet:\nnodeTaints:'), found: [] },
  {
    why: 'arguments as a list of names and values, which hides a taint',
    text: kubelet('extraArgs:\n  - { name: register-with-taints, value: dedicated=gpu:NoSchedule }'),
    found: ['wrong-type machine.kubelet.extraArgs'],
  },
  { why: 'arguments as one text', text: kubelet('extraArgs: --v=2'), found: ['wrong-type machine.kubelet.extraArgs'] },
  {
    why: 'nested arguments',
    text: kubelet('extraArgs: { v: { a: b } }'),
    found: ['wrong-type machine.kubelet.extraArgs.v'],
  },
  {
    why: 'arguments of other programs',
    text: 'cluster: { apiServer: { extraArgs: { v: { a: b } } }, etcd: { extraArgs: [a] } }\n',
    found: ['wrong-type cluster.apiServer.extraArgs.v', 'wrong-type cluster.etcd.extraArgs'],
  },
  { why: 'numbers and booleans as arguments', text: kubelet('extraArgs: { v: 2, register-node: true }'), found: [] },
  {
    why: 'a misspelled setting of the kubelet',
    text: kubelet('extraConfig:\n  registerWithTaint:\n    - { key: a, effect: NoSchedule }'),
    found: ['kubelet-field machine.kubelet.extraConfig.registerWithTaint'],
  },
  {
    why: 'a field of a taint that there is not',
    text: kubelet('extraConfig: { registerWithTaints: [{ key: a, operator: Exists, effect: NoSchedule }] }'),
    found: ['kubelet-field machine.kubelet.extraConfig.registerWithTaints[0].operator'],
  },
  {
    why: 'an unquoted value of a taint: a boolean',
    text: kubelet('extraConfig: { registerWithTaints: [{ key: a, value: true, effect: NoSchedule }] }'),
    found: ['kubelet-configuration machine.kubelet.extraConfig.registerWithTaints[0].value'],
  },
  {
    why: 'an unquoted value of a taint: a number',
    text: kubelet('extraConfig: { registerWithTaints: [{ key: a, value: 1, effect: NoSchedule }] }'),
    found: ['kubelet-configuration machine.kubelet.extraConfig.registerWithTaints[0].value'],
  },
  ...['0b101', '1_000', '1_000.5'].map(
    (number): Case => ({
      why: `an unquoted value of a taint: ${number}`,
      text: kubelet(`extraConfig: { registerWithTaints: [{ key: a, value: ${number}, effect: NoSchedule }] }`),
      found: ['kubelet-configuration machine.kubelet.extraConfig.registerWithTaints[0].value'],
    }),
  ),
  {
    why: 'numbers of the kubelet',
    text: kubelet('extraConfig: { maxPods: 0b101, podsPerCore: +0x1F, memoryThrottlingFactor: 0.8_5 }'),
    found: [],
  },
  {
    why: 'the time of a taint is for the API server to set',
    text: kubelet(
      'extraConfig: { registerWithTaints: [{ key: a, effect: NoExecute, timeAdded: "2026-01-01T00:00:00Z" }] }',
    ),
    found: ['kubelet-configuration machine.kubelet.extraConfig.registerWithTaints[0].timeAdded'],
  },
  {
    why: 'a number in quotes, which only Talos itself would refuse elsewhere, too',
    text: kubelet('extraConfig: { maxPods: "250" }'),
    found: ['kubelet-configuration machine.kubelet.extraConfig.maxPods'],
  },
  {
    why: 'right settings of the kubelet',
    text: kubelet(
      'extraConfig: { maxPods: 250, serverTLSBootstrap: true, evictionHard: { memory.available: 5% }, shutdownGracePeriod: 30s, featureGates: { A: true } }',
    ),
    found: [],
  },
  {
    why: 'what Talos sets itself',
    text: kubelet('extraConfig: { resolvConf: /x, staticPodPath: /y, port: "a" }'),
    found: [
      'kubelet-configuration machine.kubelet.extraConfig.resolvConf',
      'kubelet-configuration machine.kubelet.extraConfig.staticPodPath',
      'kubelet-configuration machine.kubelet.extraConfig.port',
    ],
  },
  {
    why: 'two taints with one key and effect in the list',
    text: kubelet(
      'extraConfig:\n  registerWithTaints:\n    - { key: dedicated, value: gpu, effect: NoSchedule }\n    - { key: dedicated, value: cpu, effect: NoSchedule }',
    ),
    found: ['duplicate-taint machine.kubelet.extraConfig.registerWithTaints[1]'],
  },
  {
    why: 'the same twice is a duplicate, too',
    text: kubelet(
      'extraConfig: { registerWithTaints: [{ key: a, effect: NoSchedule }, { key: a, effect: NoSchedule }] }',
    ),
    found: ['duplicate-taint machine.kubelet.extraConfig.registerWithTaints[1]'],
  },
  {
    why: 'two in the flag',
    text: kubelet('extraArgs: { register-with-taints: "a=b:NoSchedule,a=c:NoSchedule" }'),
    found: ['duplicate-taint machine.kubelet.extraArgs["register-with-taints"]'],
  },
  {
    why: 'one key with two effects is two taints',
    text: kubelet(
      'extraConfig: { registerWithTaints: [{ key: a, effect: NoSchedule }, { key: a, effect: NoExecute }] }',
    ),
    found: [],
  },
  ...[
    'kubeconfig',
    'bootstrap-kubeconfig',
    'config',
    'cert-dir',
    'container-runtime',
    'container-runtime-endpoint',
  ].map(
    (name): Case => ({
      why: 'an argument that Talos sets itself',
      text: kubelet(`extraArgs: { ${name}: /x, v: 4 }`),
      found: [`managed-argument machine.kubelet.extraArgs${name.includes('-') ? `["${name}"]` : `.${name}`}`],
    }),
  ),
  {
    why: 'arguments of the control plane that Talos sets itself',
    text: 'machine: { type: controlplane }\ncluster: { apiServer: { extraArgs: { etcd-servers: a } }, scheduler: { extraArgs: { config: a } }, etcd: { extraArgs: { name: a } } }\n',
    found: [
      'managed-argument cluster.apiServer.extraArgs["etcd-servers"]',
      'managed-argument cluster.scheduler.extraArgs.config',
      'managed-argument cluster.etcd.extraArgs.name',
    ],
  },
  {
    why: 'etcd runs on control planes only',
    text: `${worker('certSANs: []')}cluster:\n  etcd: { advertisedSubnets: [10.0.0.0/8] }\n`,
    found: ['control-plane-document cluster.etcd'],
  },
  {
    why: 'etcd on a control plane',
    text: 'machine: { type: controlplane }\ncluster: { etcd: { advertisedSubnets: [10.0.0.0/8] } }\n',
    found: [],
  },
  {
    why: 'kubectl writes taints in this way, Talos does not',
    text: 'machine: { type: controlplane, nodeTaints: { dedicated=gpu: NoSchedule } }\n',
    found: ['malformed machine.nodeTaints["dedicated=gpu"]'],
  },
  {
    why: 'an annotation key',
    text: worker('nodeAnnotations: { "po ol": x }'),
    found: ['malformed machine.nodeAnnotations["po ol"]'],
  },
  { why: 'a type that there is not', text: 'machine: { type: master }\n', found: ['malformed machine.type'] },
  {
    why: 'what Talos calls no type, which is none',
    text: 'machine: { type: unknown }\n',
    found: ['malformed machine.type'],
  },
  { why: 'a type of Talos before 0.13', text: 'machine: { type: join }\n', found: [] },
  { why: 'not stored', text: `persist: false\n${worker('certSANs: []')}`, found: ['persist persist'] },
  { why: 'stored', text: `persist: true\n${worker('certSANs: []')}`, found: [] },
  { why: 'a whole configuration without a cluster', text: whole(), found: ['incomplete cluster'] },
  {
    why: 'without its endpoint',
    text: whole('cluster: { clusterName: a }\n'),
    found: ['incomplete cluster.controlPlane'],
  },
  { why: 'with both', text: whole(CLUSTER), found: [] },
  { why: 'a patch has no cluster', text: worker('certSANs: []'), found: [] },
  {
    why: 'what only patches may have',
    text: whole(`  nodeLabels: { $patch: delete }\n${CLUSTER}`),
    found: ['patch-directive machine.nodeLabels["$patch"]'],
  },
  { why: 'in a patch', text: worker('nodeLabels: { $patch: delete }'), found: [] },
];

describe('Talos 1.13', () => {
  it.each(CASES)('$why: $found', ({ text, found }) => {
    const refused = lintText(text, { version: 13 }).filter(({ severity }) => severity === 'refused');
    expect(refused.map(({ rule, field }) => `${rule} ${field}`).sort()).toEqual([...found].sort());
  });
});

it('Talos itself writes an empty section, which its types cannot tell from none', () => {
  expect(lintText(worker('registries: {}'), { version: 13 })).toEqual([]);
  expect(lintText(worker('registries: { mirrors: {} }'), { version: 13 }).map(inShort)).toEqual([
    '3:3 deprecated-field machine.registries',
  ]);
});

describe('a list for one argument', () => {
  const text = kubelet('extraArgs: { node-labels: [a=b, c=d] }');

  it.each([
    { version: 12, patch: undefined, refused: true },
    { version: 13, patch: undefined, refused: true },
    { version: 13, patch: 0, refused: true },
    { version: 13, patch: 5, refused: true },
    { version: 13, patch: 6, refused: false },
    { version: 14, patch: undefined, refused: false },
    { version: undefined, patch: undefined, refused: false },
  ])('1.$version, patch $patch: $refused', ({ version, patch, refused }) => {
    const findings = lintText(text, { version, patch }).filter(({ severity }) => severity === 'refused');
    expect(findings.map(inShort)).toEqual(refused ? ['4:18 wrong-type machine.kubelet.extraArgs["node-labels"]'] : []);
  });

  it("the patch is that of the installer's image, too", () => {
    const installs = (tag: string) => `${text}  install: { image: "ghcr.io/siderolabs/installer:${tag}" }\n`;
    expect(lintText(installs('v1.13.5')).map(({ rule }) => rule)).toEqual(['wrong-type']);
    expect(lintText(installs('v1.13.6'))).toEqual([]);
  });
});

describe('versions', () => {
  it.each([
    { what: 'persist: false', text: 'persist: false\n', since: 6 },
    { what: 'cluster.etcd on a worker', text: 'machine: { type: worker }\ncluster: { etcd: {} }\n', since: 7 },
    { what: 'a type that no version has', text: 'machine: []\n', since: 3 },
    { what: "the scheduler's config", text: 'cluster: { scheduler: { extraArgs: { config: a } } }\n', since: 6 },
  ])('$what is refused since 1.$since', ({ text, since }) => {
    const refusing = Array.from({ length: 13 }, (_, index) => index + 3).filter((version) =>
      lintText(text, { version }).some(({ severity }) => severity === 'refused'),
    );
    expect(refusing[0]).toBe(since);
    expect(refusing.at(-1)).toBe(15);
  });

  it('an endpoint is needed up to 1.13; later, it is in a KubeClusterConfig', () => {
    const text = whole('cluster: {}\n');
    expect(lintText(text, { version: 13 }).map(({ rule }) => rule)).toEqual(['incomplete']);
    expect(lintText(text, { version: 14 }).filter(({ rule }) => rule === 'incomplete')).toEqual([]);
    const section = whole('cluster: { controlPlane: { localAPIServerPort: 1 } }\n');
    expect(lintText(section, { version: 14 }).map(({ rule }) => rule)).toContain('incomplete');
  });

  it("the kubelet's configuration of Talos 1.14 is decoded in the same way", () => {
    const text = 'apiVersion: v1alpha1\nkind: KubeletConfig\nconfig: { registerWithTaint: [], port: 1, maxPods: a }\n';
    expect(lintText(text, { version: 14 }).map(({ rule, field }) => `${rule} ${field}`)).toEqual([
      'kubelet-field config.registerWithTaint',
      'kubelet-configuration config.port',
      'kubelet-configuration config.maxPods',
    ]);
  });
});
