import { describe, expect, it } from 'vitest';
import { parseDocuments } from '../../../../src/files/documents.ts';
import { mayKubeletSet } from '../../../../src/talos/kubelet-labels.ts';
import type { LintOptions } from '../../../../src/talos/lint/lint.ts';
import { readMachineConfiguration } from '../../../../src/talos/machine-configuration.ts';
import { inShort, lintText } from './linted-files.ts';

const short = (text: string, options = {}) => lintText(text, options).map(inShort);
const ROLE = 'node-role.kubernetes.io/control-plane';
const document = (kind: string, rest: string) => `apiVersion: v1alpha1\nkind: ${kind}\n${rest}\n`;

describe('labels that a kubelet may set on its own node', () => {
  it.each([
    ['pool', true],
    ['example.com/pool', true],
    ['kubernetes.io/hostname', true],
    ['topology.kubernetes.io/zone', true],
    ['beta.kubernetes.io/instance-type', true],
    ['node.kubernetes.io/anything', true],
    ['a.node.kubernetes.io/anything', true],
    ['kubelet.kubernetes.io/anything', true],
    ['notkubernetes.io/anything', true],
    ['kubernetes.io/role', false],
    ['node-role.kubernetes.io/worker', false],
    ['node-restriction.kubernetes.io/team', false],
    ['a.node-restriction.kubernetes.io/team', false],
    ['topology.kubernetes.io/rack', false],
    ['k8s.io/anything', false],
    ['cluster.x-k8s.io/pool', true],
    ['a.k8s.io/anything', false],
    ['kubernetes.io/', false],
  ])('%s: %s', (key, may) => {
    expect(mayKubeletSet(key)).toBe(may);
  });
});

describe('patches', () => {
  const TAINTS = 'machine: { nodeTaints: { dedicated: NoSchedule } }';
  const LABELS = 'machine: { nodeLabels: { node-role.kubernetes.io/gpu: "" } }';

  it('are for workers only if the user says so', () => {
    for (const text of [TAINTS, LABELS]) {
      expect(short(text)).toEqual([]);
      expect(short(text, { role: 'controlplane' })).toEqual([]);
      expect(short(text, { role: 'worker' })).toHaveLength(1);
    }
  });

  it('that say their role know better', () => {
    expect(short('machine: { type: controlplane, nodeTaints: { a: NoSchedule } }', { role: 'worker' })).toEqual([]);
  });

  it('need no label of a control plane', () => {
    expect(short(document('KubeNodeConfig', 'labels: { a: b }'), { role: 'controlplane' })).toEqual([]);
  });
});

describe('taints on workers', () => {
  it('what to write instead is what the taint says', () => {
    const [finding] = lintText('machine:\n  type: worker\n  nodeTaints: { example.com/a: "b:NoExecute" }', {
      version: 9,
    });
    expect(finding?.reason).toMatch(/^Talos 1\.9: a worker sets example\.com\/a=b:NoExecute as its kubelet/);
    expect(finding?.fix).toContain('registerWithTaints: [{ key: example.com/a, value: b, effect: NoExecute }]');
  });

  it('a value that YAML would take for something else has quotes', () => {
    const fixes = lintText('machine: { type: worker, nodeTaints: { a: "yes:NoExecute", b: "1.10:NoExecute" } }').map(
      ({ fix }) => /value: [^,]*/.exec(fix)?.[0],
    );
    expect(fixes).toEqual(['value: "yes"', 'value: "1.10"']);
  });

  it('since 1.14 the kubelet registers with those of either shape', () => {
    const older = 'machine: { type: worker, nodeTaints: { a: NoSchedule } }';
    const newer = `machine: { type: worker }\n---\n${document('KubeNodeConfig', 'taints: { a: NoSchedule }')}`;
    expect(short(older, { version: 14 })).toEqual(['1:26 deprecated-field machine.nodeTaints']);
    expect(short(newer, { version: 14 })).toEqual([]);
    expect(short(newer)).toEqual([]);
  });

  it.each([
    { since: 'NoSchedule', now: 'NoExecute', version: 14, role: 'worker', found: 1 },
    { since: 'NoSchedule', now: 'NoSchedule', version: 14, role: 'worker', found: 0 },
    { since: 'NoSchedule', now: 'NoExecute', version: 14, role: 'controlplane', found: 0 },
  ])('changed from $since to $now since a $role registered: $found', ({ since, now, version, role, found }) => {
    const text = (effect: string) =>
      `machine: { type: ${role} }\n---\n${document('KubeNodeConfig', `${role === 'controlplane' ? `labels: { ${ROLE}: "" }\n` : ''}taints: { a: ${effect} }`)}`;
    const registered = readMachineConfiguration(parseDocuments(text(since), 'before.yaml'), 'before.yaml');
    const rules = lintText(text(now), { version, registered }).map(({ rule }) => rule);
    expect(rules).toEqual(Array(found).fill('changed-registration'));
  });
});

describe('a taint that is no longer declared on a worker', () => {
  const configuration = (rest: string, type = 'worker') => `machine: { type: ${type}, ${rest} }`;
  const BEFORE = 'nodeTaints: { dedicated: "gpu:NoSchedule", other: NoExecute }';
  const registered = (type = 'worker') =>
    readMachineConfiguration(parseDocuments(configuration(BEFORE, type), 'before.yaml'), 'before.yaml');
  const found = (rest: string, options: LintOptions = {}, type = 'worker') =>
    lintText(configuration(rest, type), { registered: registered(type), ...options }).filter(
      ({ rule }) => rule === 'owned-taint',
    );
  const OTHER = 'nodeTaints: { other: NoExecute }';

  it.each([
    { why: 'up to 1.13', rest: OTHER, options: { version: 13 }, expected: 1 },
    { why: 'of an unknown version', rest: OTHER, options: {}, expected: 1 },
    {
      why: 'since 1.14 the kubelet registers with it, and changed-registration is about that',
      rest: OTHER,
      options: { version: 14 },
      expected: 0,
    },
    { why: 'still declared', rest: BEFORE, options: { version: 13 }, expected: 0 },
    {
      why: 'declared with another effect: worker-taint is about that',
      rest: 'nodeTaints: { dedicated: NoExecute, other: NoExecute }',
      options: { version: 13 },
      expected: 0,
    },
    {
      why: 'on a control plane, Talos removes it',
      rest: OTHER,
      options: { version: 13 },
      type: 'controlplane',
      expected: 0,
    },
  ])('$why', ({ rest, options, type, expected }) => {
    expect(found(rest, options, type)).toHaveLength(expected);
  });

  it('blocks other changes until it is removed or released, and the commands are named', () => {
    const [finding] = found(OTHER, { version: 13 });
    expect(finding && inShort(finding)).toBe('1:26 owned-taint machine.nodeTaints.dedicated');
    expect(finding?.reason).toContain(
      'changes of labels and annotations are lost until the taint is removed or released',
    );
    expect(finding?.fix).toContain('"kubectl taint node NODE dedicated:NoSchedule-" removes it');
    expect(finding?.fix).toContain('"kubectl annotate node NODE talos.dev/owned-taints-" keeps it');
  });

  it('is not to be removed where the kubelet registers with it from now on', () => {
    const [finding] = found(`${OTHER}, kubelet: { extraArgs: { register-with-taints: "dedicated=gpu:NoSchedule" } }`);
    expect(finding?.fix).not.toContain('kubectl taint');
    expect(finding?.fix).toContain('"kubectl annotate node NODE talos.dev/owned-taints-" keeps it');
  });
});

describe('the version', () => {
  const installs = (image: string) => `machine:\n  nodeTaints: { a: NoSchedule }\n  install: { image: "${image}" }`;

  it.each([
    ['ghcr.io/siderolabs/installer:v1.5.0', ['2:3 field-version machine.nodeTaints']],
    ['factory.talos.dev/installer/0123abcd:v1.5.0', ['2:3 field-version machine.nodeTaints']],
    ['ghcr.io/siderolabs/installer:v1.13.0', []],
    // Older and newer than what is known of: the nearest is.
    ['ghcr.io/siderolabs/installer:v1.2.0', ['2:3 field-version machine.nodeTaints']],
    [
      'ghcr.io/siderolabs/installer:v1.16.0',
      ['2:3 deprecated-field machine.nodeTaints', '3:3 deprecated-field machine.install'],
    ],
    ['ghcr.io/siderolabs/installer:latest', []],
  ])('is that of the installer: %s', (image, expected) => {
    expect(short(installs(image))).toEqual(expected);
  });

  it('said aloud wins', () => {
    expect(short(installs('ghcr.io/siderolabs/installer:v1.5.0'), { version: 13 })).toEqual([]);
  });

  it('determines which kinds of documents Talos has', () => {
    expect(short(document('UserVolumeConfig', 'name: a'), { version: 9 })).toEqual(['2:1 field-version kind']);
    expect(short(document('UserVolumeConfig', 'name: a'), { version: 10 })).toEqual([]);
    expect(short(document('ImageVerificationConfig', ''), { version: 12 })).toEqual(['2:1 field-version kind']);
    for (const version of [13, 14, 15]) expect(short(document('ImageVerificationConfig', ''), { version })).toEqual([]);
  });

  it('fields come with patches, too: what the newest 1.12 has, 1.12 has', () => {
    const text = document('OOMConfig', 'strictCgroupClassOrdering: true');
    expect(short(text, { version: 11 })).toEqual(['2:1 field-version kind']);
    expect(short(text, { version: 12 })).toEqual([]);
  });

  it('nothing is said to be unknown to a Talos that is newer than what is known of', () => {
    const text = (version: string) => `${installs(`ghcr.io/siderolabs/installer:${version}`)}\n  new: {}`;
    expect(short(text('v1.15.0'))).toContain('4:3 unknown-field machine.new');
    expect(short(text('v1.16.0'))).not.toContain('4:3 unknown-field machine.new');
  });

  it('is that of a document that installs, too', () => {
    const text = `machine: { kubelet: {} }\n---\n${document('UnattendedInstallConfig', 'installer: { image: "a/installer:v1.14.1" }')}`;
    expect(short(text)).toEqual(['1:12 deprecated-field machine.kubelet']);
  });

  it('what is unknown below a deprecated section is unknown all the same', () => {
    expect(short('machine: { kubelet: { imagee: a } }', { version: 14 })).toEqual([
      '1:12 deprecated-field machine.kubelet',
      '1:23 unknown-field machine.kubelet.imagee',
    ]);
  });

  it('deprecated once, for the whole section', () => {
    const text = 'cluster: { network: { podSubnets: [10.244.0.0/16], dnsDomain: cluster.local } }';
    expect(short(text, { version: 14 })).toEqual(['1:12 deprecated-field cluster.network']);
    expect(lintText(text, { version: 14 })[0]?.fix).toBe('remove it; set the same in a KubeNetworkConfig document');
  });
});

describe('what the user may have meant', () => {
  it.each([
    ['machine: { nodeLabel: {} }', 'did you mean nodeLabels?'],
    ['machine: { certsans: [] }', 'did you mean certSANs?'],
    ['cluster: { network: { servicesubnets: [] } }', 'did you mean serviceSubnets?'],
    ['cluster: { nodeAnnotations: {} }', 'move it to machine.nodeAnnotations'],
    ['machine: {}\nkubelet: {}', 'move it to machine.kubelet'],
    ['machine: { zzz: {} }', 'remove it'],
    ['machine: { kubelet: { nodeTaints: {} } }', 'move it to machine.nodeTaints'],
    [
      'machine: { kubelet: { register-with-taints: "a:NoSchedule" } }',
      'move it to machine.kubelet.extraArgs["register-with-taints"]',
    ],
    ['cluster: { registerWithTaints: [] }', 'move it to machine.kubelet.extraConfig.registerWithTaints'],
    [document('KubeNodeConfig', 'registerWithTaints: []'), 'did you mean taints?'],
    [document('KubeletConfig', 'maxPods: 200'), 'move it to config of a KubeletConfig document'],
    [document('KubeNodeConfig', 'nodeLabels: {}'), 'did you mean labels?'],
    [document('KubeletConfg', ''), 'did you mean KubeletConfig?'],
    [document('Zzz', ''), 'remove the document'],
  ])('%j: %s', (text, fix) => {
    expect(lintText(text).map((finding) => finding.fix)).toEqual([fix]);
  });
});

it.each([13, 14])('a control plane that prefers other nodes for ordinary pods allows them: 1.%s', (version) => {
  const found = (allow: boolean) =>
    lintText(
      `machine: { type: controlplane, nodeTaints: { ${ROLE}: PreferNoSchedule } }\ncluster: { allowSchedulingOnControlPlanes: ${allow} }`,
      { version },
    ).filter(({ rule }) => rule !== 'deprecated-field');
  expect(found(true)).toEqual([]);
  // Before, the declared one takes the place of Talos' own.
  expect(found(false).map(inShort)).toEqual(
    version < 14 ? [] : [`1:46 control-plane-taint machine.nodeTaints["${ROLE}"]`],
  );
});

it('the effect of an empty register-with-taints is none', () => {
  expect(
    short('machine: { type: worker, kubelet: { extraArgs: { register-with-taints: "" } } }', { version: 13 }),
  ).toEqual([]);
});

it.each([0, 1, 2, 3])('Talos 1.%d is checked by the fields of the oldest version that is known', (minor) => {
  const text = `machine:
  type: worker
  nodeLabel: {}
  kubelet: { image: 5, extraMounts: {} }
  install: { image: 'ghcr.io/siderolabs/installer:v1.${minor}.0' }
`;
  expect(short(text)).toEqual(short(text, { version: 3 }));
  expect(short(text)).toContainEqual(expect.stringContaining('unknown-field machine.nodeLabel'));
});

it.each([
  { minor: 1, versions: 'Talos up to 1.3' },
  { minor: 3, versions: 'Talos up to 1.3' },
  { minor: 4, versions: 'Talos 1.4' },
])('of Talos 1.$minor, it says "$versions"', ({ minor, versions }) => {
  const text = `machine:
  type: worker
  nodeTaints: { gpu: NoSchedule }
  kubelet: { extraConfig: { crashLoopBackOff: {} } }
  install: { image: 'ghcr.io/siderolabs/installer:v1.${minor}.0' }
`;
  const reasons = lintText(text).map(({ reason }) => reason.split(/ (?:was|does) /)[0]);
  expect(reasons).toEqual([versions, versions]);
});
