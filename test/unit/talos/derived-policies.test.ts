import { describe, expect, it } from 'vitest';
import { parsePolicies } from '../../../src/files/policy-files.ts';
import { policiesAsObject } from '../../../src/files/policy-manifest.ts';
import { isDnsSubdomain, isLabelValue } from '../../../src/kubernetes/names.ts';
import { formatTaint } from '../../../src/kubernetes/taint.ts';
import type { PolicySelector } from '../../../src/policy/selector.ts';
import { type DerivationOptions, derivePolicies } from '../../../src/talos/derived-policies.ts';
import type { NodeDeclaration } from '../../../src/talos/node-declaration.ts';
import { formatPolicies } from '../../../src/talos/policy-text.ts';
import { declare, machine } from './declarations.ts';
import { registering } from './registering.ts';

const OPTIONS: DerivationOptions = { mode: 'Restore' };

const controlPlane = declare('cp.yaml', machine('controlplane'));
const worker = declare('worker.yaml', machine('worker'));
const pool = (name: string, taints: object, labels: object = { pool: name }) =>
  declare(`${name}.yaml`, machine('worker', { nodeLabels: labels, nodeTaints: taints }));
const gpu = pool('gpu', { dedicated: 'gpu:NoSchedule' });

it('a policy selects by labels as Talos sets them, whatever supplies their values', () => {
  const text = [
    'machine:',
    '  type: worker',
    '  nodeAnnotations: &common { rack: 0010, 1.10: &v 1.10 }',
    '  sysctls: { v: *v }',
    '  nodeLabels: { <<: *common, ver: *v }',
    '  nodeTaints: { dedicated: &t "gpu:NoSchedule", other: *t }',
  ];
  const [derived] = derivePolicies([declare('f.yaml', text.join('\n')), worker], OPTIONS);
  expect(derived?.policy.spec.nodeSelector).toEqual({ matchLabels: { '1.10': '1.10', rack: '0010', ver: '1.10' } });
  expect(derived?.taints.map((taint) => `${taint.at} ${formatTaint(taint)}`)).toEqual([
    'f.yaml:6:17 dedicated=gpu:NoSchedule',
    'f.yaml:6:49 other=gpu:NoSchedule',
  ]);
});

describe('policies of machine configurations', () => {
  const tests: {
    what: string;
    declarations: NodeDeclaration[];
    options?: Partial<DerivationOptions>;
    names: string[];
  }[] = [
    {
      what: 'control planes and a pool',
      declarations: [controlPlane, worker, gpu],
      names: ['talos-control-planes', 'talos-pool-gpu'],
    },
    {
      what: 'a pool with several taints, of every effect',
      declarations: [
        pool('gpu', { dedicated: 'gpu:NoSchedule', soft: 'PreferNoSchedule', hard: 'x:NoExecute' }),
        worker,
      ],
      names: ['talos-pool-gpu'],
    },
    {
      what: 'a pool whose taints are those of another, and more',
      declarations: [
        pool('gpu', { dedicated: 'gpu:NoSchedule' }, { pool: 'gpu' }),
        pool('big', { dedicated: 'gpu:NoSchedule', big: 'NoSchedule' }, { pool: 'gpu', size: 'big' }),
      ],
      names: ['talos-pool-gpu', expect.stringMatching(/^talos-pool-gpu-size-big\.[0-9a-f]{8}$/)],
    },
    {
      what: 'two pools with the same taint and different labels',
      declarations: [pool('gpu', { dedicated: 'ai:NoSchedule' }), pool('tpu', { dedicated: 'ai:NoSchedule' }), worker],
      names: [expect.stringMatching(/^talos-pool-gpu-tpu\.[0-9a-f]{8}$/)],
    },
    {
      what: 'control planes of which some take workloads, told apart by a label',
      declarations: [
        declare('cp-1.yaml', machine('controlplane', { nodeLabels: { workloads: 'no' } })),
        declare('cp-2.yaml', '{"machine":{"type":"controlplane"},"cluster":{"allowSchedulingOnControlPlanes":true}}'),
      ],
      names: [expect.stringMatching(/^talos-workloads-no-control-planes\.[0-9a-f]{8}$/)],
    },
    {
      what: 'a control plane of Talos 1.15',
      declarations: [
        declare(
          'cp.yaml',
          `machine: {type: controlplane}\n---\napiVersion: v1alpha1\nkind: KubeNodeConfig\nlabels: {node-role.kubernetes.io/control-plane: ""}\ntaints: {node-role.kubernetes.io/control-plane: NoSchedule}`,
        ),
      ],
      names: ['talos-control-planes'],
    },
  ];

  it.each(tests)('add exactly what is declared: $what', ({ declarations, options, names }) => {
    const derived = derivePolicies(declarations, { ...OPTIONS, ...options });
    expect(derived.map(({ policy }) => policy.name)).toEqual(names);
    const text = formatPolicies(derived);
    const taintsOf = registering(text);
    for (const declaration of declarations) {
      expect(taintsOf(declaration), declaration.configuration.source).toEqual(
        declaration.taints.map(formatTaint).sort(),
      );
    }
    expect(parsePolicies([{ name: 'derived.yaml', text }])).toEqual(derived.map(({ policy }) => policy));
  });

  it('are one for files with the same taints, by the labels that these have in common', () => {
    const one = pool('gpu-1', { dedicated: 'gpu:NoSchedule' }, { pool: 'gpu', rack: '1' });
    const two = pool('gpu-2', { dedicated: 'gpu:NoSchedule' }, { pool: 'gpu', rack: '2' });
    const [only, ...others] = derivePolicies([one, worker, two], OPTIONS);
    expect(others).toEqual([]);
    expect(only?.sources).toEqual(['gpu-1.yaml', 'gpu-2.yaml']);
    expect(only?.policy.spec.nodeSelector).toEqual({ matchLabels: { pool: 'gpu' } });
  });

  it('have no selector by labels that say what a node is or where it stands', () => {
    const zoned = pool('gpu', { dedicated: 'gpu:NoSchedule' }, { 'topology.kubernetes.io/zone': 'a', pool: 'gpu' });
    expect(derivePolicies([zoned], OPTIONS)[0]?.policy.spec.nodeSelector).toEqual({ matchLabels: { pool: 'gpu' } });
  });

  it('leave out a taint that an operator sets and removes, and name it in a comment', () => {
    const cilium = pool('gpu', { dedicated: 'gpu:NoSchedule', 'node.cilium.io/agent-not-ready': 'true:NoExecute' });
    const text = formatPolicies(derivePolicies([cilium], OPTIONS));
    expect(registering(text)(cilium)).toEqual(['dedicated=gpu:NoSchedule']);
    expect(text).toMatch(/^# Left out: node.cilium.io\/agent-not-ready=true:NoExecute \(gpu.yaml:/m);
  });

  it('say of a taint that evicts pods which nodes get it', () => {
    const commentOf = (taint: string, mode: DerivationOptions['mode']) =>
      formatPolicies(derivePolicies([pool('gpu', { dedicated: taint })], { mode }));
    expect(commentOf('gpu:NoExecute', 'Restore')).toMatch(/# .*would evict their pods/);
    // Neither sets any taint on a running node that would evict pods.
    expect(commentOf('gpu:NoExecute', 'Audit')).not.toContain('evict');
    expect(commentOf('gpu:NoSchedule', 'Restore')).not.toContain('evict');
  });

  it('quote what kubectl would not take for a text', () => {
    const text = formatPolicies(derivePolicies([pool('x', { dedicated: 'yes:NoSchedule' }, { gpu: 'on' })], OPTIONS));
    expect(text).toContain('value: "yes"');
    expect(text).toContain('gpu: "on"');
  });

  it('have the mode that was asked for', () => {
    expect(derivePolicies([gpu], { ...OPTIONS, mode: 'Deny' })[0]?.policy.spec.mode).toBe('Deny');
  });

  it('are for the nodes that were named', () => {
    const nodeSelector = { matchLabels: { 'example.com/Team_A': 'Vision' } };
    const [derived] = derivePolicies([pool('x', { dedicated: 'x:NoSchedule' }, {})], { ...OPTIONS, nodeSelector });
    expect(derived?.policy).toMatchObject({
      name: expect.stringMatching(/^talos-team-a-vision\.[0-9a-f]{8}$/),
      spec: { nodeSelector },
    });
  });

  it('have names that differ, and that the API server takes', () => {
    const long = 'a'.repeat(63);
    const a = pool('a', { one: 'NoSchedule' }, { [long]: long, x: '1' });
    const b = pool('b', { two: 'NoSchedule' }, { [long]: long, x: '2' });
    const names = derivePolicies([a, b], OPTIONS).map(({ policy }) => policy.name);
    expect(new Set(names).size).toBe(2);
    for (const name of names) expect([isDnsSubdomain(name), isLabelValue(name)], name).toEqual([true, true]);
  });

  const nameOf = (nodeSelector: PolicySelector) =>
    derivePolicies([gpu], { ...OPTIONS, nodeSelector }).map(({ policy }) => policy.name)[0];
  const labelled = (matchLabels: Record<string, string>) => nameOf({ matchLabels });

  it.each<[string, string | undefined, string | undefined]>([
    [
      'the labels that differ are cut off',
      labelled({
        environment: 'production',
        location: 'frankfurt-datacenter-one',
        owner: 'machine-learning',
        pool: 'gpu',
      }),
      labelled({
        environment: 'production',
        location: 'frankfurt-datacenter-one',
        owner: 'machine-learning',
        pool: 'tpu',
      }),
    ],
    ['the domain differs', labelled({ 'a.example.com/pool': 'gpu' }), labelled({ 'b.example.com/pool': 'gpu' })],
    ['one has a domain', labelled({ 'example.com/pool': 'gpu' }), labelled({ pool: 'gpu' })],
    ['a character differs', labelled({ pool: 'gpu.a' }), labelled({ pool: 'gpu_a' })],
    ['one has capitals', labelled({ pool: 'GPU' }), labelled({ pool: 'gpu' })],
    ['the value of one is in the key of the other', labelled({ pool: 'gpu-a' }), labelled({ 'pool-gpu': 'a' })],
    ['one has two labels', labelled({ pool: 'gpu', size: 'big' }), labelled({ pool: 'gpu-size-big' })],
    [
      'one is an expression',
      nameOf({ matchExpressions: [{ key: 'pool', operator: 'In', values: ['gpu', 'a'] }] }),
      labelled({ pool: 'gpu-a' }),
    ],
    [
      'one has the words of control planes',
      nameOf({ matchExpressions: [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }] }),
      labelled({ control: 'planes' }),
    ],
  ])('have another name for other nodes, also if another run makes them: %s', (_, one, other) => {
    expect(one).not.toBe(other);
  });

  it.each([
    ['talos-pool-gpu', { pool: 'gpu' }],
    ['talos-pool-gpu-a100', { pool: 'gpu-a100' }],
  ])('have a name without a hash if it says all: %s', (name, labels) => {
    expect(labelled(labels)).toBe(name);
  });

  it('are a List in JSON where there are several', () => {
    expect(policiesAsObject(derivePolicies([gpu], OPTIONS).map(({ policy }) => policy))).toMatchObject({
      kind: 'TaintPolicy',
    });
    const both = policiesAsObject(derivePolicies([gpu, controlPlane], OPTIONS).map(({ policy }) => policy));
    expect(both).toMatchObject({
      apiVersion: 'v1',
      kind: 'List',
      items: [{ kind: 'TaintPolicy' }, { kind: 'TaintPolicy' }],
    });
  });

  it('keep the name of a file within its comment', () => {
    const odd = { ...gpu, configuration: { ...gpu.configuration, source: 'a\nkind: Evil #.yaml' } };
    expect(formatPolicies(derivePolicies([odd], OPTIONS))).toContain('# Declared in a\\u{a}kind: Evil #.yaml; ');
  });
});

describe('no policies', () => {
  it('where nothing is declared', () => {
    expect(derivePolicies([worker], OPTIONS)).toEqual([]);
  });

  it.each([
    {
      what: 'no label says which nodes',
      declarations: [pool('gpu', { dedicated: 'gpu:NoSchedule' }, { 'topology.kubernetes.io/zone': 'a' }), worker],
      faults: ['gpu.yaml: no label', '--node-selector'],
    },
    {
      what: 'nothing tells the nodes from others with other taints',
      declarations: [gpu, pool('other', {}, { pool: 'gpu' })],
      faults: ['gpu.yaml:1:', 'dedicated=gpu:NoSchedule', 'other.yaml', '--node-selector'],
    },
    {
      what: 'two files contradict each other',
      declarations: [gpu, pool('other', { dedicated: 'cpu:NoSchedule' }, { pool: 'gpu' })],
      faults: ['gpu.yaml:1:', 'contradicts dedicated=cpu:NoSchedule at other.yaml:1:'],
    },
    {
      what: 'control planes differ',
      declarations: [
        controlPlane,
        declare('cp-2.yaml', '{"machine":{"type":"controlplane"},"cluster":{"allowSchedulingOnControlPlanes":true}}'),
      ],
      faults: ['cp.yaml:1:', 'cp-2.yaml'],
    },
    {
      what: 'nodes are named for files that are not alike',
      declarations: [gpu, worker],
      nodeSelector: { matchLabels: { pool: 'gpu' } },
      faults: ['worker.yaml', '--node-selector is for the nodes of all files'],
    },
  ])('where $what', ({ declarations, nodeSelector, faults }) => {
    for (const fault of faults) expect(() => derivePolicies(declarations, { ...OPTIONS, nodeSelector })).toThrow(fault);
  });
});
