import { describe, expect, it } from 'vitest';
import { parseDocuments } from '../../../src/files/documents.ts';
import { InputError } from '../../../src/files/text-files.ts';
import { formatTaint } from '../../../src/kubernetes/taint.ts';
import { type MachineConfiguration, readMachineConfiguration } from '../../../src/talos/machine-configuration.ts';

const read = (text: string) => readMachineConfiguration(parseDocuments(text, 'f.yaml'), 'f.yaml');

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
