import { assert, describe, expect, it } from 'vitest';
import { formatPath } from '../../../src/policy/problem.ts';
import { documentEntry, documentKinds, type Entry, kubeletEntry, typeIn } from '../../../src/talos/fields.ts';
import { type Decoder, typeFaults } from '../../../src/talos/type-check.ts';

const VALUES = {
  text: 'x',
  number: 7,
  negative: -7,
  fraction: 1.5,
  boolean: true,
  yes: 'yes',
  digits: '7',
  duration: '30s',
};
const ALL = { ...VALUES, list: ['x'], mapping: { a: 'x' }, nested: [['x']] };

/** What Go takes for each type: tried with the machinery of Talos 1.13.0, for all its fields, and with its decoder of the kubelet's configuration. */
const TAKES: readonly {
  decoder: Decoder;
  path: readonly string[];
  type: string;
  takes: readonly (keyof typeof ALL)[];
}[] = [
  {
    decoder: 'talos',
    path: ['machine', 'token'],
    type: 'text',
    takes: ['text', 'number', 'negative', 'fraction', 'boolean', 'yes', 'digits', 'duration'],
  },
  { decoder: 'talos', path: ['machine', 'install', 'wipe'], type: 'bool', takes: ['boolean', 'yes'] },
  { decoder: 'talos', path: ['machine', 'features', 'kubePrism', 'port'], type: 'int', takes: ['number', 'negative'] },
  { decoder: 'talos', path: ['machine', 'files', '*', 'permissions'], type: 'uint', takes: ['number'] },
  { decoder: 'talos', path: ['machine', 'time', 'bootTimeout'], type: 'duration', takes: ['duration'] },
  { decoder: 'talos', path: ['machine', 'certSANs'], type: '[]text', takes: ['list'] },
  { decoder: 'talos', path: ['machine', 'sysctls'], type: '{}text', takes: ['mapping'] },
  { decoder: 'talos', path: ['machine', 'disks'], type: '[]struct', takes: [] },
  { decoder: 'talos', path: ['machine', 'kubelet', 'extraConfig'], type: '{}any', takes: ['mapping'] },
  { decoder: 'kubelet', path: ['clusterDomain'], type: 'text', takes: ['text', 'yes', 'digits', 'duration'] },
  { decoder: 'kubelet', path: ['failSwapOn'], type: 'bool', takes: ['boolean'] },
  { decoder: 'kubelet', path: ['maxPods'], type: 'int', takes: ['number', 'negative'] },
  { decoder: 'kubelet', path: ['memoryThrottlingFactor'], type: 'float', takes: ['number', 'negative', 'fraction'] },
  { decoder: 'kubelet', path: ['syncFrequency'], type: 'duration', takes: ['duration'] },
  { decoder: 'kubelet', path: ['evictionHard'], type: '{}text', takes: ['mapping'] },
];

const at = (path: readonly string[], value: unknown): unknown =>
  path.reduceRight<unknown>((below, name) => (name === '*' ? [below] : { [name]: below }), value);

describe.each(TAKES)('$type of $decoder: $path', ({ decoder, path, type, takes }) => {
  const entry = decoder === 'talos' ? documentEntry(undefined) : kubeletEntry();
  assert(entry);

  it.each(Object.entries(ALL))('%s', (name, value) => {
    const faults = typeFaults(at(path, value), { entry, decoder, version: 13 });
    const isTaken = (takes as readonly string[]).includes(name);
    expect(faults.length === 0).toBe(isTaken);
    for (const found of faults) {
      if (found.fault === 'wrong type') expect(type.endsWith(found.type) || found.type === type).toBe(true);
    }
  });

  it('null is absent', () => {
    expect(typeFaults(at(path, null), { entry, decoder, version: 13 })).toEqual([]);
  });
});

it('all faults are found, each where it is', () => {
  const entry = documentEntry(undefined);
  assert(entry);
  const value = {
    machine: {
      network: { interfaces: [{ mtu: 'a' }, { 'a/b~c': 1 }] },
      sysctls: Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`a/${index}`, []])),
    },
  };
  const faults = typeFaults(value, { entry, decoder: 'talos', version: 13 });
  expect(faults.map(({ fault, path }) => `${fault} ${formatPath(path)}`)).toEqual([
    'wrong type machine.network.interfaces[0].mtu',
    'unknown field machine.network.interfaces[1]["a/b~c"]',
    ...Array.from({ length: 20 }, (_, index) => `wrong type machine.sysctls["a/${index}"]`),
  ]);
});

it('every type in the table is one that is checked', () => {
  const types = new Set<string>();
  const walk = (entry: Entry): void => {
    for (const below of entry.children.values()) {
      for (const { type } of below.types) types.add(type.replace(/^(\[\]|\{\})+/, ''));
      walk(below);
    }
  };
  for (const kind of [undefined, ...documentKinds()]) {
    const entry = documentEntry(kind);
    assert(entry && typeIn(entry) === 'struct');
    walk(entry);
  }
  walk(kubeletEntry());
  expect([...types].sort()).toEqual(
    ['any', 'arg', 'bool', 'duration', 'float', 'int', 'quantity', 'struct', 'text', 'uint', 'value'].sort(),
  );
});
