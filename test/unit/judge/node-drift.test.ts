import { describe, expect, it } from 'vitest';
import type { NodeView } from '../../../src/judge/node-view.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { TaintMode } from '../../../src/policy/taint-policy.ts';
import { driftOf, missingTaintsOf, nodeOf, type Policies, rule } from './node-drifts.ts';
import { cpu, gpu, other } from './request/node-updates.ts';

const GPU = 'dedicated=gpu:NoSchedule';
const CPU = 'dedicated=cpu:NoSchedule';
const ALWAYS_GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' } as const;
const ALWAYS_CPU = { ...ALWAYS_GPU, value: 'cpu' };
const ALWAYS_ANY = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' } as const;
const ELSEWHERE = { nodeSelector: { matchLabels: { pool: 'cpu' } } };
const evicting: Taint = { ...gpu, effect: 'NoExecute' };

describe('a required taint', () => {
  it.each<{ why: string; node: NodeView; taints: Taint[] }>([
    { why: 'is put behind the others', node: nodeOf([other]), taints: [other, gpu] },
    { why: 'gets its value in its place', node: nodeOf([cpu, other]), taints: [gpu, other] },
    { why: 'stands beside one of another effect', node: nodeOf([evicting]), taints: [evicting, gpu] },
  ])('$why', ({ node, taints }) => {
    const drift = driftOf({ p: rule('Restore', ALWAYS_GPU) }, node);
    expect(drift.missing).toMatchObject([{ field: 'spec.taints[0]', taint: gpu, blockedBy: undefined }]);
    expect(drift.taints).toEqual(taints);
  });

  it.each(['karpenter.sh/controller', 'node.kubernetes.io/lifecycle', 'node.cluster.x-k8s.io/pool'])(
    'is set though autoscalers or Kubernetes have other taints in its domain: %s',
    (key) => {
      expect(driftOf({ p: rule('Restore', { ...ALWAYS_GPU, key }) }, nodeOf([])).taints).toEqual([{ ...gpu, key }]);
    },
  );

  it('is set beside another one with another value', () => {
    const policies = { p: rule('Restore', ALWAYS_GPU), q: rule('Restore', { ...ALWAYS_CPU, key: 'other' }) };
    expect(driftOf(policies, nodeOf([])).taints).toEqual([gpu, { ...cpu, key: 'other' }]);
  });

  it.each<[mode: TaintMode, missing: string[], taints: Taint[] | undefined]>([
    ['Restore', [`p ${GPU}`], [gpu]],
    // The mode says what happens to requests.
    ['Deny', [`p ${GPU}`], [gpu]],
    ['Audit', [`p ${GPU} (ModeDoesNotRestore)`], undefined],
  ])('in mode %s', (mode, missing, taints) => {
    for (const node of [nodeOf([]), nodeOf([cpu])]) {
      const drift = driftOf({ p: rule(mode, ALWAYS_GPU) }, node);
      expect(missingTaintsOf(drift)).toEqual(missing);
      expect(drift.taints).toEqual(taints ?? node.taints);
    }
  });

  it.each<{ why: string; policies: Policies; node: NodeView }>([
    { why: 'the node carries it', policies: { p: rule('Restore', ALWAYS_GPU) }, node: nodeOf([gpu]) },
    { why: 'any value will do', policies: { p: rule('Restore', ALWAYS_ANY) }, node: nodeOf([cpu]) },
    {
      why: 'the policy is for other nodes',
      policies: { p: rule('Restore', ALWAYS_GPU, { nodeSelector: { matchLabels: { pool: 'gpu' } } }) },
      node: nodeOf([]),
    },
    { why: 'it is only protected', policies: { p: rule('Restore', { key: 'dedicated' }) }, node: nodeOf([]) },
    {
      why: 'it is for registration only',
      policies: { p: rule('Restore', { ...ALWAYS_GPU, ensure: 'AtRegistration' }) },
      node: nodeOf([]),
    },
  ])('is not missed when $why', ({ policies, node }) => {
    expect(driftOf(policies, node)).toEqual({ missing: [], keptOff: [], taints: node.taints });
  });
});

describe('an entry of the annotation', () => {
  const off = (allowRemoval: string, policies: Policies = { p: rule('Restore', ALWAYS_GPU) }) => {
    const found = driftOf(policies, nodeOf([], { allowRemoval }));
    return {
      missing: missingTaintsOf(found),
      keptOff: found.keptOff.map(({ policy }) => policy.name),
      taints: found.taints,
    };
  };

  it('keeps a required taint off, for each policy that reads it', () => {
    const policies = { p: rule('Restore', ALWAYS_GPU), q: rule('Deny', ALWAYS_GPU) };
    expect(off(`a:NoExecute, ${GPU}`, policies)).toEqual({ missing: [], keptOff: ['q', 'p'], taints: [] });
  });

  it('keeps it off with any value if the policy names none', () => {
    expect(off(CPU, { p: rule('Restore', ALWAYS_ANY) }).keptOff).toEqual(['p']);
  });

  it.each([CPU, 'dedicated:NoSchedule', `${GPU}-`, 'dedicated=gpu', 'dedicated=gpu:NoExecute'])(
    'for another taint keeps nothing off: %s',
    (allowRemoval) => {
      expect(off(allowRemoval)).toEqual({ missing: [`p ${GPU}`], keptOff: [], taints: [gpu] });
    },
  );

  it('has no effect for a policy with removalByAnnotation: Forbidden', () => {
    const forbidden = rule('Deny', ALWAYS_GPU, { removalByAnnotation: 'Forbidden' });
    expect(off(GPU, { p: forbidden })).toMatchObject({ missing: [`p ${GPU}`], keptOff: [] });
    // Another policy that reads it changes nothing: admission would not let the taint be removed either.
    expect(off(GPU, { p: forbidden, q: rule('Restore', ALWAYS_GPU) })).toMatchObject({
      missing: [`p ${GPU}`],
      keptOff: ['q'],
      taints: [gpu],
    });
  });

  it('does not keep a changed value: the policy requires its own', () => {
    expect(driftOf({ p: rule('Restore', ALWAYS_GPU) }, nodeOf([cpu], { allowRemoval: GPU }))).toMatchObject({
      missing: [],
      keptOff: [{ policy: { name: 'p' } }],
      taints: [cpu],
    });
  });
});

describe('if several policies require one taint', () => {
  it.each<{ why: string; policies: Policies; node?: NodeView; missing: string[]; taints?: Taint[] }>([
    {
      why: 'with different values, the leader sets none',
      policies: { a: rule('Restore', ALWAYS_CPU), b: rule('Deny', ALWAYS_GPU) },
      missing: [`b ${GPU} (ValuesDiffer)`, `a ${CPU} (ValuesDiffer)`],
    },
    {
      why: 'a policy that names a value wins over one that accepts any value',
      policies: { a: rule('Deny', ALWAYS_ANY), b: rule('Restore', ALWAYS_GPU) },
      missing: [`a ${GPU}`, `b ${GPU}`],
      taints: [gpu],
    },
    {
      why: 'one that only watches has no say in the value',
      policies: { a: rule('Audit', ALWAYS_GPU), b: rule('Restore', ALWAYS_ANY) },
      missing: ['b dedicated:NoSchedule', `a ${GPU} (ModeDoesNotRestore)`],
      taints: [{ key: 'dedicated', effect: 'NoSchedule' }],
    },
    {
      why: 'one that only watches misses nothing once the node gets its value',
      policies: { a: rule('Audit', ALWAYS_GPU), b: rule('Restore', ALWAYS_GPU) },
      missing: [`b ${GPU}`],
      taints: [gpu],
    },
    {
      why: 'the leader sets nothing for policies in mode Audit',
      policies: { a: rule('Audit', ALWAYS_GPU), b: rule('Audit', ALWAYS_GPU) },
      missing: [`a ${GPU} (ModeDoesNotRestore)`, `b ${GPU} (ModeDoesNotRestore)`],
    },
    {
      why: 'a value that another one requires is kept, as where there is none',
      policies: { a: rule('Restore', ALWAYS_CPU), b: rule('Restore', ALWAYS_GPU) },
      node: nodeOf([cpu]),
      missing: [`b ${GPU} (ValuesDiffer)`],
    },
    {
      why: 'a value that another one protects by its key is kept',
      policies: { a: rule('Deny', { key: 'dedicated' }), b: rule('Restore', { ...ALWAYS_GPU, value: '' }) },
      node: nodeOf([cpu]),
      missing: ['b dedicated:NoSchedule (OtherValuePresent)'],
    },
    {
      why: 'a value that another one protects by its domain is kept',
      policies: {
        a: rule('Deny', { key: 'example.com/*' }),
        b: rule('Restore', { ...ALWAYS_GPU, key: 'example.com/a' }),
      },
      node: nodeOf([{ ...cpu, key: 'example.com/a' }]),
      missing: ['b example.com/a=gpu:NoSchedule (OtherValuePresent)'],
    },
    ...[
      { why: 'requires', taints: [ALWAYS_CPU] },
      { why: 'requires with any value', taints: [ALWAYS_ANY] },
      { why: 'protects', taints: [{ key: 'dedicated', value: 'cpu' }] },
      { why: 'sets at the registration', taints: [{ ...ALWAYS_CPU, ensure: 'AtRegistration' as const }] },
    ].map(({ why, taints }) => ({
      why: `a value that another one ${why} of other nodes is kept: labels may come from a kubelet`,
      policies: { a: { mode: 'Deny' as const, taints, ...ELSEWHERE }, b: rule('Restore', ALWAYS_GPU) },
      node: nodeOf([cpu]),
      missing: [`b ${GPU} (OtherValuePresent)`],
    })),
    {
      why: 'a value that others only watch, or have with another value or effect, on other nodes is corrected',
      policies: {
        a: rule('Audit', ALWAYS_CPU, ELSEWHERE),
        c: rule('Deny', { ...ALWAYS_CPU, effect: 'NoExecute' }, ELSEWHERE),
        d: rule('Deny', { ...ALWAYS_CPU, value: 'other' }, ELSEWHERE),
        b: rule('Restore', ALWAYS_GPU),
      },
      node: nodeOf([cpu]),
      missing: [`b ${GPU}`],
      taints: [gpu],
    },
    {
      why: 'a value that a policy of the node sets at its registration is corrected',
      policies: { a: rule('Deny', { ...ALWAYS_CPU, ensure: 'AtRegistration' }), b: rule('Restore', ALWAYS_GPU) },
      node: nodeOf([cpu]),
      missing: [`b ${GPU}`],
      taints: [gpu],
    },
    {
      why: 'a value that only the policy itself protects is corrected',
      policies: { b: { mode: 'Restore', taints: [{ key: 'dedicated' }, ALWAYS_GPU] } },
      node: nodeOf([cpu]),
      missing: [`b ${GPU}`],
      taints: [gpu],
    },
    {
      why: 'a value that is only watched is corrected',
      policies: { a: rule('Audit', ALWAYS_CPU), b: rule('Restore', ALWAYS_GPU) },
      node: nodeOf([cpu]),
      missing: [`b ${GPU}`],
      taints: [gpu],
    },
  ])('$why', ({ policies, node = nodeOf([]), missing, taints = [...node.taints] }) => {
    const drift = driftOf(policies, node);
    expect(missingTaintsOf(drift)).toEqual(missing);
    expect(drift.taints).toEqual(taints);
  });
});

it('a taint that evicts pods is set only at registration: on a running node, its absence or another value is reported', () => {
  const policies = { p: rule('Restore', { ...ALWAYS_GPU, effect: 'NoExecute' }) };
  for (const node of [nodeOf([]), nodeOf([{ ...evicting, value: 'cpu' }])]) {
    const drift = driftOf(policies, node);
    expect(missingTaintsOf(drift)).toEqual(['p dedicated=gpu:NoExecute (WouldEvictPods)']);
    expect(drift.taints).toBe(node.taints);
  }
});

it('leaves a taint in conflict to the other writer, and sets the others', () => {
  const policies: Policies = { p: { mode: 'Restore', taints: [ALWAYS_GPU, { ...ALWAYS_GPU, key: 'other' }] } };
  const drift = driftOf(policies, nodeOf([]), ({ key }) => key === 'other');
  expect(missingTaintsOf(drift)).toEqual([`p ${GPU}`, 'p other=gpu:NoSchedule (Conflict)']);
  expect(drift.taints).toEqual([gpu]);
});

it('sets several taints in one write, after the present ones, in the order of the policies', () => {
  const drift = driftOf(
    {
      b: { mode: 'Restore', taints: [ALWAYS_GPU, { ...ALWAYS_GPU, effect: 'PreferNoSchedule' }] },
      a: rule('Restore', { ...ALWAYS_GPU, key: 'a' }),
    },
    nodeOf([other]),
  );
  expect(drift.taints).toEqual([other, { ...gpu, key: 'a' }, gpu, { ...gpu, effect: 'PreferNoSchedule' }]);
});
