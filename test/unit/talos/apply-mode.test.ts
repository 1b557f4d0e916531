import { describe, expect, it } from 'vitest';
import { parseDocuments } from '../../../src/files/documents.ts';
import { changeOf } from '../../../src/talos/apply-mode.ts';

const documents = (text: string) => parseDocuments(text, 'a.yaml');

/** What a machine needs a reboot for where `after` takes the place of `before`, in these versions. */
function rebooting(before: string, after: string, versions: readonly number[]): [version: number, fields: string][] {
  return versions.map((version) => [
    version,
    changeOf(documents(before), documents(after), version).rebooting.join(' '),
  ]);
}

const machine = (...fields: string[]) => `machine:\n  type: worker\n${fields.map((field) => `  ${field}\n`).join('')}`;

/** CanApplyImmediate of machined, at the first and the last version that has it so. */
it.each([
  { field: 'nodeLabels: { a: b }', until: 2 },
  { field: 'kernel: { modules: [] }', until: 2 },
  { field: 'nodeTaints: { a: b:NoSchedule }', until: 5 },
  { field: 'ca: { crt: YQ== }', until: 6 },
  { field: 'acceptedCAs: [{ crt: YQ== }]', until: 6 },
  { field: 'nodeAnnotations: { a: b }', until: 7 },
  { field: 'env: { a: b }', until: 13 },
  { field: 'udev: { rules: [a] }', until: 13 },
  { field: 'disks: [{ device: /dev/sdb }]', until: 13 },
  { field: 'files: [{ content: a }]', until: 13 },
  { field: 'token: a.b', until: 13 },
  { field: 'systemDiskEncryption: { state: { provider: luks2 } }', until: 13 },
])('$field needs a reboot up to Talos 1.$until', ({ field, until }) => {
  const versions = Array.from({ length: 13 }, (_, index) => index + 3);
  const path = `machine.${field.split(':')[0]}`;
  expect(rebooting(machine(), machine(field), versions)).toEqual(
    versions.map((version) => [version, version <= until ? path : '']),
  );
});

describe('features', () => {
  it.each([
    { feature: 'kubernetesTalosAPIAccess: { enabled: true }', until: 2 },
    { feature: 'kubePrism: { enabled: true }', until: 4 },
    { feature: 'hostDNS: { enabled: true }', until: 6 },
    { feature: 'imageCache: { localEnabled: true }', until: 8 },
    { feature: 'nodeAddressSortAlgorithm: v2', until: 8 },
    { feature: 'diskQuotaSupport: true', until: 13 },
  ])('$feature up to 1.$until', ({ feature, until }) => {
    const [before, after] = [machine('features: { rbac: true }'), machine(`features: { rbac: true, ${feature} }`)];
    const found = rebooting(before, after, [until, until + 1]).map(([, fields]) => fields);
    expect(found).toEqual([`machine.features.${feature.split(':')[0]}`, '']);
  });

  it('of which there were none: Talos compares the whole', () => {
    const after = machine('features: { hostDNS: { enabled: true } }');
    expect(rebooting(machine(), after, [13])).toEqual([[13, 'machine.features']]);
  });
});

it.each([
  { what: 'the role', before: machine(), after: 'machine: { type: controlplane }', needs: 'machine.type' },
  { what: 'a field at the top', before: 'persist: true\nmachine: {}', after: 'machine: {}', needs: 'persist' },
  { what: 'the cluster', before: machine(), after: `${machine()}cluster: { secret: a }`, needs: '' },
  { what: 'null for nothing', before: machine(), after: machine('disks: null'), needs: '' },
  { what: 'an empty list for nothing', before: machine(), after: machine('disks: []'), needs: 'machine.disks' },
  { what: 'quotes', before: machine('env: { a: 1, b: yes }'), after: machine('env: { a: "1", b: "yes" }'), needs: '' },
  {
    what: '1.10 and 1.1',
    before: machine('env: { a: 1.10 }'),
    after: machine('env: { a: 1.1 }'),
    needs: 'machine.env',
  },
  {
    what: 'booleans of YAML 1.1',
    before: machine('features: { rbac: yes }'),
    after: machine('features: { rbac: true }'),
    needs: '',
  },
  {
    what: 'the order of fields',
    before: machine('env: { a: b, c: d }'),
    after: machine('env: { c: d, a: b }'),
    needs: '',
  },
  {
    what: 'a number in a list, which Talos reads as a text',
    before: machine('files: [{ path: a, permissions: 0o644 }]'),
    after: machine('files: [{ path: a, permissions: 0o600 }]'),
    needs: 'machine.files',
  },
  {
    what: 'a number in a list that stays',
    before: machine('files: [{ path: a, permissions: 0o644 }]'),
    after: machine('files: [{ path: a, permissions: 0o644 }]'),
    needs: '',
  },
  {
    what: 'the order of a list',
    before: machine('files: [{ path: a }, { path: b }]'),
    after: machine('files: [{ path: b }, { path: a }]'),
    needs: 'machine.files',
  },
])('what a reboot is needed for, by $what', ({ before, after, needs }) => {
  expect(rebooting(before, after, [13])).toEqual([[13, needs]]);
});

it.each([
  { what: 'empty registries', before: machine(), after: machine('registries: {}') },
  { what: 'registries that are null', before: machine('registries: {}'), after: machine('registries: null') },
  {
    what: 'registries of the discovery, and what they consist of',
    before: 'cluster: { discovery: { enabled: true } }',
    after: 'cluster: { discovery: { enabled: true, registries: { kubernetes: {}, service: {} } } }',
  },
])('is no change, because Go has the same value: $what', ({ before, after }) => {
  expect(changeOf(documents(before), documents(after), 13).fields).toEqual([]);
  expect(changeOf(documents(after), documents(before), 13).fields).toEqual([]);
});

it.each([
  { what: 'a mirror', before: machine(), after: machine('registries: { mirrors: { a: {} } }'), field: 'registries' },
  { what: 'an empty struct behind a pointer', before: machine(), after: machine('udev: {}'), field: 'udev' },
])('is a change: $what', ({ before, after, field }) => {
  expect(changeOf(documents(before), documents(after), 13).fields).toEqual([`machine.${field}`]);
});

it('names the kinds of documents that come, go or change; their order is no matter', () => {
  const link = (name: string, up = true) => `---\napiVersion: v1alpha1\nkind: LinkConfig\nname: ${name}\nup: ${up}\n`;
  const kinds = (before: string, after: string) =>
    changeOf(documents(machine() + before), documents(machine() + after), 13).kinds;
  expect(kinds(link('a') + link('b'), link('b') + link('a'))).toEqual([]);
  expect(kinds(link('a'), link('a', false))).toEqual(['LinkConfig']);
  expect(kinds(link('a'), link('a') + link('a'))).toEqual(['LinkConfig']);
  expect(kinds('', link('a'))).toEqual(['LinkConfig']);
});

it('from 1.14 on, names what may take effect with the next reboot only', () => {
  const after = `${machine('env: { a: b }', 'nodeLabels: { a: b }')}cluster: { etcd: { image: a } }
---
apiVersion: v1alpha1
kind: EnvironmentConfig
variables: { a: b }
`;
  const late = (version: number) => changeOf(documents(`${machine()}cluster: {}\n`), documents(after), version).late;
  expect(late(14)).toEqual(['machine.env', 'cluster.etcd', 'EnvironmentConfig']);
  expect(late(13)).toEqual([]);
});
