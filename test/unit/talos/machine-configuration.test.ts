import { describe, expect, it } from 'vitest';
import { parseDocuments } from '../../../src/files/documents.ts';
import { InputError } from '../../../src/files/input-error.ts';
import { formatTaint } from '../../../src/kubernetes/taint.ts';
import { parseTalosDocuments } from '../../../src/talos/document-values.ts';
import { type MachineConfiguration, readMachineConfiguration } from '../../../src/talos/machine-configuration.ts';

const read = (text: string) => readMachineConfiguration(parseTalosDocuments(text, 'f.yaml'), 'f.yaml');

const taints = (configuration: MachineConfiguration) =>
  configuration.taints.map(
    ({ shape, value, document, path }) => `${document.locate(path)} ${shape} ${formatTaint(value)}`,
  );

describe('taints', () => {
  it.each([
    {
      why: 'nodeTaints, without a value and with one',
      text: 'machine:\n  type: worker\n  nodeTaints:\n    a: NoSchedule\n    b.io/c: v:NoExecute\n    d: ":PreferNoSchedule"\n',
      expected: [
        'f.yaml:4:5 nodeTaints a:NoSchedule',
        'f.yaml:5:5 nodeTaints b.io/c=v:NoExecute',
        'f.yaml:6:5 nodeTaints d:PreferNoSchedule',
      ],
    },
    {
      why: 'KubeNodeConfig',
      text: 'apiVersion: v1alpha1\nkind: KubeNodeConfig\ntaints: { a: "v:NoSchedule" }\n',
      expected: ['f.yaml:3:11 KubeNodeConfig a=v:NoSchedule'],
    },
    {
      why: 'the flag, several in one text',
      text: 'machine:\n  kubelet:\n    extraArgs:\n      register-with-taints: a=:NoSchedule,b=v:NoExecute\n',
      expected: ['f.yaml:4:7 register-with-taints a:NoSchedule', 'f.yaml:4:7 register-with-taints b=v:NoExecute'],
    },
    {
      why: 'the flag as a list, as it can be since Talos 1.13',
      text: 'machine:\n  kubelet:\n    extraArgs:\n      register-with-taints:\n        - a=:NoSchedule\n        - b:NoExecute\n',
      expected: ['f.yaml:5:11 register-with-taints a:NoSchedule', 'f.yaml:6:11 register-with-taints b:NoExecute'],
    },
    {
      why: "the kubelet's configuration",
      text: 'machine:\n  kubelet:\n    extraConfig:\n      registerWithTaints:\n        - { key: a, value: 1.10, effect: NoSchedule }\n        - key: b\n          effect: NoExecute\n',
      expected: ['f.yaml:5:11 registerWithTaints a=1.10:NoSchedule', 'f.yaml:6:11 registerWithTaints b:NoExecute'],
    },
    {
      why: 'both in the document of Talos 1.14',
      text: 'apiVersion: v1alpha1\nkind: KubeletConfig\nextraArgs: { register-with-taints: "a:NoSchedule" }\nconfig: { registerWithTaints: [{ key: b, effect: NoExecute }] }\n',
      expected: ['f.yaml:3:14 register-with-taints a:NoSchedule', 'f.yaml:4:32 registerWithTaints b:NoExecute'],
    },
    { why: 'an empty flag', text: 'machine: { kubelet: { extraArgs: { register-with-taints: "" } } }', expected: [] },
    { why: 'nothing where there is nothing', text: 'machine:\n  nodeTaints:\n  kubelet:\n', expected: [] },
  ])('$why', ({ text, expected }) => {
    const configuration = read(text);
    expect(taints(configuration)).toEqual(expected);
    expect(configuration.malformed).toEqual([]);
  });

  it.each([
    { text: 'machine:\n  nodeTaints:\n    a: noschedule\n', place: '3:5', says: 'case-sensitive: NoSchedule' },
    { text: 'machine:\n  nodeTaints:\n    a: v=NoSchedule\n', place: '3:5', says: '"v=NoSchedule" is no effect' },
    { text: 'machine:\n  nodeTaints:\n    a: NoSchedule:v\n', place: '3:5', says: '"v" is no effect' },
    { text: 'machine:\n  nodeTaints:\n    a b: NoSchedule\n', place: '3:5', says: '"a b" is no taint key' },
    { text: 'machine:\n  nodeTaints:\n    a: "v w:NoSchedule"\n', place: '3:5', says: '"v w" is no taint value' },
    {
      text: 'machine:\n  nodeTaints:\n    dedicated=gpu: NoSchedule\n',
      place: '3:5',
      says: 'expected dedicated: gpu:NoSchedule',
    },
    {
      text: 'machine:\n  nodeTaints:\n    dedicated=gpu:NoSchedule: ""\n',
      place: '3:5',
      says: 'expected dedicated: gpu:NoSchedule',
    },
    {
      text: 'machine:\n  nodeTaints:\n    dedicated: dedicated=gpu:NoSchedule\n',
      place: '3:5',
      says: 'expected dedicated: gpu:NoSchedule',
    },
    { text: 'machine:\n  nodeTaints:\n    "a:NoExecute": ""\n', place: '3:5', says: 'expected a: NoExecute' },
    { text: 'machine: { type: workr }\n', place: '1:12', says: 'expected controlplane or worker' },
    { text: 'machine: { type: toString }\n', place: '1:12', says: 'expected controlplane or worker' },
    {
      text: 'machine: { nodeAnnotations: { "po ol": x } }\n',
      place: '1:31',
      says: '"po ol" is no annotation key: expected NAME or DOMAIN/NAME',
    },
    {
      text: 'apiVersion: v1alpha1\nkind: KubeNodeConfig\nannotations: { talos.dev/owned-taints: "[]" }\n',
      place: '3:16',
      says: 'is for Talos to set',
    },
    {
      text: 'machine:\n  kubelet:\n    extraArgs:\n      register-with-taints: a=b=c:NoSchedule\n',
      place: '4:7',
      says: 'expected key=value:Effect, or key:Effect',
    },
    {
      text: 'machine:\n  kubelet:\n    extraArgs:\n      register-with-taints: a:NoSchedule,\n',
      place: '4:7',
      says: '"" is no taint key',
    },
  ])('that are none: $says', ({ text, place, says }) => {
    const [only, ...more] = read(text).malformed;
    expect(only?.document.locate(only.path)).toBe(`f.yaml:${place}`);
    expect(`${only?.problem}: expected ${only?.expected}`).toContain(says);
    expect(more).toEqual([]);
  });
});

describe('labels', () => {
  it('of both shapes and of the flag, with values as they are written', () => {
    const { labels, malformed } = read(
      [
        'machine:',
        '  nodeLabels: { a: "", version: 1.10, on: true }',
        '  kubelet: { extraArgs: { node-labels: "b = 1, c" } }',
        '---',
        'apiVersion: v1alpha1',
        'kind: KubeNodeConfig',
        'labels: { d: e }',
      ].join('\n'),
    );
    expect(labels.map(({ shape, value: { key, value } }) => `${shape} ${key}=${value}`)).toEqual([
      'nodeLabels a=',
      'nodeLabels version=1.10',
      'nodeLabels on=true',
      'node-labels b=1',
      'node-labels c=',
      'KubeNodeConfig d=e',
    ]);
    expect(malformed).toEqual([]);
  });

  it.each([
    { text: 'machine:\n  nodeLabels:\n    a/b/c: x\n', says: '"a/b/c" is no label key' },
    { text: 'machine:\n  nodeLabels:\n    a: x y\n', says: 'the value of label a' },
  ])('that are none: $says', ({ text, says }) => {
    const { labels, malformed } = read(text);
    expect(labels).toEqual([]);
    expect(malformed.map(({ document, path, problem }) => `${document.locate(path)}: ${problem}`)).toEqual([
      expect.stringContaining(`f.yaml:3:5: ${says}`),
    ]);
  });
});

describe('texts are read as Talos reads them', () => {
  /** What Talos 1.11 and 1.13 read (configloader.NewFromBytes of their pkg/machinery); 1.14, too, where no other version is named. */
  it.each<{ why: string; text: string; expected: string[] }>([
    {
      why: 'numbers with an alias',
      text: 'nodeAnnotations: { rack: &r 0010, ver: &v 1.10, on: &y yes, n: &n ~ }\nnodeLabels: { rack: *r, ver: *v, on: *y, n: *n }',
      expected: ['3:17 rack=0010', '3:27 ver=1.10', '3:36 on=yes', '3:44 n='],
    },
    {
      why: 'numbers by a merge key (up to 1.13)',
      text: 'nodeAnnotations: &common\n  rack: 0010\n  ver: 1.10\n  e: 1e3\n  h: 0x1F\nnodeLabels:\n  <<: *common\n  ver: 1.20',
      expected: ['3:5 rack=0010', '9:5 ver=1.20', '5:5 e=1e3', '6:5 h=0x1F'],
    },
    {
      why: 'by a merge key in a merged mapping (up to 1.13)',
      text: 'nodeAnnotations: &a { rack: 0010, x: 01 }\nsysctls: &b { <<: *a, rack: 0020 }\nnodeLabels: { <<: *b }',
      expected: ['3:25 rack=0020', '2:37 x=01'],
    },
    {
      why: 'a whole mapping with an alias',
      text: 'nodeLabels: &l { rack: 0010 }\nnodeAnnotations: *l',
      expected: ['2:20 rack=0010'],
    },
    {
      why: 'keys that are numbers or booleans',
      text: 'nodeLabels: { 0010: a, 1.10: b, 0x1F: c, True: d, yes: e, 1: f, 01: g }',
      expected: ['2:61 1=f', '2:17 0010=a', '2:26 1.10=b', '2:35 0x1F=c', '2:44 True=d', '2:53 yes=e', '2:67 01=g'],
    },
    {
      why: 'an item of a list of arguments (since 1.13)',
      text: 'nodeAnnotations: { a: &a "rack=0010" }\nkubelet: { extraArgs: { node-labels: [*a, ver=1.10] } }',
      expected: ['3:41 rack=0010', '3:45 ver=1.10'],
    },
    {
      why: 'bytes and texts by their tags',
      text: 'nodeLabels: { a: !!binary aGk=, b: !!str 0010, c: !!int "10", d: !!str null, e: ! 1.10 }',
      expected: ['2:17 a=hi', '2:35 b=0010', '2:50 c=10', '2:65 d=null', '2:80 e=1.10'],
    },
  ])('$why', ({ text, expected }) => {
    const { labels, malformed } = read(`machine:\n${text.replace(/^/gm, '  ')}`);
    expect(
      labels.map(({ value: { key, value }, document, path }) => `${document.locate(path)} ${key}=${value}`),
    ).toEqual(expected.map((line) => `f.yaml:${line}`));
    expect(malformed).toEqual([]);
  });

  it.each([
    ['0010', '0010'],
    ['1.10', '1.10'],
    ['1E5', '1E5'],
    ['00', '00'],
    ['0o17', '0o17'],
    ['0b101', '0b101'],
    ['1_000', '1_000'],
    ['123456789012345678901234567890', '123456789012345678901234567890'],
    ['TRUE', 'TRUE'],
    ['off', 'off'],
    ['Null', ''],
    ['', ''],
    ['2001-01-01', '2001-01-01'],
    ['!!float 1.10', '1.10'],
    ['!!timestamp 2001-01-01', '2001-01-01'],
    ['>-\n      0010', '0010'],
  ])('a label %j', (written, expected) => {
    for (const text of [
      `machine:\n  nodeLabels:\n    x: ${written}\n`,
      `machine:\n  nodeAnnotations:\n    a: &x ${written}\n  nodeLabels: { x: *x }\n`,
    ]) {
      expect(read(text).labels.map(({ value: { value } }) => value)).toEqual([expected]);
    }
  });

  it('of JSON of any size', () => {
    const text = `{"machine":{"nodeLabels":{"ver":1.10,"e":1E3},"files":[{"content":"${'x'.repeat(1_100_000)}"}]}}`;
    const { labels } = read(text);
    expect(labels.map(({ value: { key, value } }) => `${key}=${value}`)).toEqual(['ver=1.10', 'e=1E3']);
  });

  it('a number whose spelling is not known is refused', () => {
    const text = `{"machine":{"nodeLabels":{"ver":1.10}},"x":"${'x'.repeat(1_100_000)}"}`;
    expect(() => readMachineConfiguration(parseDocuments(text, 'f.json'), 'f.json')).toThrow(
      'f.json: machine.nodeLabels.ver: Talos reads a text here, and how it spells this number is not known: put the value in quotes',
    );
  });
});

describe('what kind of configuration it is', () => {
  it.each([
    { text: 'machine: { type: controlplane }', role: 'controlplane', isPatch: false },
    { text: 'machine: { type: init }', role: 'controlplane', isPatch: false },
    { text: 'machine: { type: worker }', role: 'worker', isPatch: false },
    { text: 'machine: { type: join }', role: 'worker', isPatch: false },
    { text: 'machine: { nodeTaints: {} }', role: undefined, isPatch: true },
    { text: 'apiVersion: v1alpha1\nkind: KubeNodeConfig', role: undefined, isPatch: true },
    { text: 'machine: { type: worker, nodeTaints: { $patch: delete } }', role: 'worker', isPatch: true },
    { text: 'machine: { type: unknown }', role: undefined, isPatch: false },
  ])('$text', ({ text, role, isPatch }) => {
    expect(read(text)).toMatchObject({ role, isPatch, source: 'f.yaml' });
  });

  it.each([
    { text: 'cluster: { allowSchedulingOnControlPlanes: true }', expected: true },
    { text: 'cluster: { allowSchedulingOnControlPlanes: yes }', expected: true },
    { text: 'cluster: { allowSchedulingOnControlPlanes: off }', expected: false },
    { text: 'cluster: { allowSchedulingOnMasters: true }', expected: true },
    { text: 'cluster: {}', expected: undefined },
    { text: 'apiVersion: v1alpha1\nkind: X\ncluster: { allowSchedulingOnControlPlanes: true }', expected: undefined },
  ])('$text', ({ text, expected }) => {
    expect(read(text).allowSchedulingOnControlPlanes?.value).toBe(expected);
  });
});

describe('patches', () => {
  it('declare what they do not delete', () => {
    const configuration = read(
      [
        'machine:',
        '  nodeTaints: { a: { $patch: delete }, b: NoSchedule }',
        '  nodeLabels: { $patch: delete, c: d }',
        '---',
        'apiVersion: v1alpha1',
        'kind: KubeNodeConfig',
        '$patch: delete',
        'taints: { e: NoSchedule }',
      ].join('\n'),
    );
    expect(taints(configuration)).toEqual(['f.yaml:2:40 nodeTaints b:NoSchedule']);
    expect(configuration.labels).toEqual([]);
    expect(configuration.malformed).toEqual([]);
  });

  it('JSON patches declare what they add and replace, and where', () => {
    const configuration = read(
      [
        '- op: add',
        '  path: /machine/nodeTaints',
        '  value:',
        '    a: NoSchedule',
        '- op: replace',
        '  path: /machine/nodeTaints/example.com~1b',
        '  value: v:NoExecute',
        '- { op: remove, path: /machine/nodeTaints/c }',
        '- op: add',
        '  path: /machine/kubelet/extraConfig/registerWithTaints/-',
        '  value:',
        '    key: d',
        '    effect: Nothing',
      ].join('\n'),
    );
    expect(taints(configuration)).toEqual([
      'f.yaml:4:5 nodeTaints a:NoSchedule',
      'f.yaml:7:3 nodeTaints example.com/b=v:NoExecute',
    ]);
    expect(configuration.isPatch).toBe(true);
    expect(configuration.malformed.map(({ document, path }) => document.locate(path))).toEqual(['f.yaml:11:3']);
  });

  /** What Talos 1.13 reads (configpatcher.LoadPatch and Apply of its pkg/machinery). */
  it.each([
    { value: '10', expected: '10' },
    { value: '1.5', expected: '1.5' },
    { value: '123456.5', expected: '123456.5' },
    { value: '0.0001', expected: '0.0001' },
    { value: 'true', expected: 'true' },
    { value: 'yes', expected: 'yes' },
    { value: '~', expected: '' },
    { value: '!!str 0010', expected: '0010' },
    { value: '"0010"', expected: '0010' },
  ])('a number or boolean in a JSON patch: $value', ({ value, expected }) => {
    const { labels } = read(`- { op: add, path: /machine/nodeLabels/x, value: ${value} }\n`);
    expect(labels.map((label) => label.value.value)).toEqual([expected]);
  });

  it.each([
    { value: '0010', why: 'it becomes 8' },
    { value: '1.10', why: 'it becomes 1.1' },
    { value: '1.0', why: 'it becomes 1' },
    { value: '1e3', why: 'it becomes 1000' },
    { value: '0x1F', why: 'it becomes 31' },
    { value: 'True', why: 'it becomes true' },
    { value: '1234567.5', why: 'it becomes 1.2345675e+06' },
    { value: '0.00001', why: 'it becomes 1e-05' },
    { value: '-0', why: 'it becomes 0' },
  ])('a number or boolean in a JSON patch that Talos spells in another way is refused: $value ($why)', ({ value }) => {
    for (const patch of [
      `- { op: add, path: /machine/nodeLabels/x, value: ${value} }\n`,
      `- { op: add, path: /machine/nodeLabels, value: { x: ${value} } }\n`,
    ]) {
      expect(() => read(patch)).toThrow(/^f\.yaml:1:\d+: machine\.nodeLabels\.x: .*: put the value in quotes$/);
    }
  });

  it('JSON patches name keys that are numbers, and items of lists', () => {
    const configuration = read(
      [
        '- { op: add, path: /machine/nodeLabels/2026, value: a }',
        '- { op: add, path: /machine/nodeTaints/10, value: NoSchedule }',
        '- { op: add, path: /machine/kubelet/extraConfig/registerWithTaints/0, value: { key: b, effect: NoExecute } }',
        '- { op: add, path: /machine/kubelet/extraArgs/node-labels/0, value: c=d }',
      ].join('\n'),
    );
    expect(taints(configuration)).toEqual([
      'f.yaml:2:44 nodeTaints 10:NoSchedule',
      'f.yaml:3:71 registerWithTaints b:NoExecute',
    ]);
    expect(configuration.labels.map(({ value: { key, value } }) => `${key}=${value}`)).toEqual(['2026=a', 'c=d']);
  });

  it('JSON patches in JSON', () => {
    const text = '[{"op":"add","path":"/machine/nodeTaints","value":{"a":"NoSchedule"}}]';
    expect(taints(read(text))).toEqual(['f.yaml:1:52 nodeTaints a:NoSchedule']);
  });
});

describe('refuses, with one line that says where', () => {
  it.each([
    { why: 'text', text: 'hello', says: 'f.yaml:1:1: expected a machine configuration' },
    { why: 'a manifest', text: 'apiVersion: v1\nkind: Pod\n', says: 'f.yaml:1:1: this is no document of Talos' },
    { why: 'some other YAML', text: 'services: {}\n', says: 'f.yaml:1:1: this is no machine configuration' },
    { why: 'a list of other things', text: '- a\n- b\n', says: 'f.yaml:1:3: expected an operation of a JSON patch' },
    {
      why: 'the configurations of two machines',
      text: 'machine: { type: controlplane }\n---\nmachine: { type: worker, nodeTaints: { a: NoSchedule } }\n',
      says: 'f.yaml:3:1: a second machine configuration in one file (the first: f.yaml:1:1)',
    },
    {
      why: 'two documents of a kind that there is one of',
      text: `${'---\napiVersion: v1alpha1\nkind: KubeNodeConfig\n'.repeat(2)}`,
      says: 'f.yaml:5:1: a second KubeNodeConfig in one file',
    },
    {
      why: 'a JSON patch without a slash',
      text: '- { op: add, path: machine/nodeTaints, value: {} }\n',
      says: 'f.yaml:1:14: expected a JSON pointer',
    },
    {
      why: 'what a JSON patch moves',
      text: '- { op: move, from: /machine/nodeTaints, path: /x }\n',
      says: 'f.yaml:1:5: only the operations add, replace, remove and test are read',
    },
  ])('$why', ({ text, says }) => {
    const faults = (() => {
      try {
        read(text);
      } catch (error) {
        if (error instanceof InputError) return error.faults;
      }
      return [];
    })();
    expect(faults).toEqual([expect.stringContaining(says)]);
  });
});
