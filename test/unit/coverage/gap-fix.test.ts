import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CoverageFix, fixGaps } from '../../../src/coverage/gap-fix.ts';
import { findGaps } from '../../../src/coverage/gaps.ts';
import { groupNodes } from '../../../src/coverage/node-groups.ts';
import type { FixableDaemonSet } from '../../../src/coverage/workload.ts';
import { type DaemonSetView, IGNORE_ANNOTATION } from '../../../src/judge/daemon-set-view.ts';
import { judgeDaemonSet } from '../../../src/judge/request/daemon-set.ts';
import { matchesPattern } from '../../../src/kubernetes/pattern.ts';
import { ROLE_TAINT_KEYS } from '../../../src/kubernetes/roles.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import { isTransientTaintKey } from '../../../src/kubernetes/transient-taints.ts';
import {
  type CompiledTolerationPolicy,
  compileTolerationPolicy,
} from '../../../src/policy/compiled-toleration-policy.ts';
import { parsePolicy } from '../../../src/policy/policy.ts';
import { compilePolicies, type PolicySet } from '../../../src/policy/policy-set.ts';
import { compileCoverage, type SchedulingNode } from '../../../src/scheduling/coverage.ts';
import { taints, tolerations } from '../admission/generators.ts';
import { manyTolerations } from '../judge/request/daemon-set-cases.ts';
import { CONTROL_PLANE, daemonSet, GPU, MASTER, NOT_READY, node } from '../scheduling/scheduling.ts';

type Fix = CoverageFix<FixableDaemonSet, SchedulingNode>;

const fixable = (name: string, given: Partial<FixableDaemonSet> = {}): FixableDaemonSet => ({
  ...daemonSet(name),
  annotations: {},
  labels: {},
  ...given,
});

const fix = (daemonSets: FixableDaemonSet[], nodes: SchedulingNode[], keys: readonly string[]): Fix =>
  fixGaps(findGaps(daemonSets, groupNodes(daemonSets, nodes)), keys);

/** The policies as the API server would take them. */
function compiled({ policies }: Fix): PolicySet {
  return compilePolicies(
    policies.map((policy) => {
      const result = parsePolicy(policy);
      if (!result.ok) throw new Error(JSON.stringify(result.problems));
      return result.policy;
    }),
  );
}

/** The DaemonSet as admission makes it. */
function applied(daemonSet: FixableDaemonSet, policies: PolicySet): FixableDaemonSet {
  const view: DaemonSetView = { ...daemonSet, labels: {}, deleting: false };
  const decision = judgeDaemonSet.mutate({ daemonSet: view }, policies);
  return decision.action === 'patch' ? { ...daemonSet, ...decision.desired } : daemonSet;
}

const NODES = [node('m', [MASTER]), node('c', [CONTROL_PLANE]), node('w')];

it('is the TolerationPolicy that the DaemonSet needs', () => {
  const flannel = fixable('kube-flannel', {
    tolerations: [{ key: CONTROL_PLANE.key, operator: 'Exists', effect: 'NoSchedule' }],
  });
  expect(fix([flannel], NODES, ROLE_TAINT_KEYS).policies).toEqual([
    {
      apiVersion: 'taintkeeper.dev/v1alpha1',
      kind: 'TolerationPolicy',
      metadata: { name: expect.stringMatching(/^coverage-kube-system\.[0-9a-f]{8}$/) },
      spec: {
        mode: 'Mutate',
        daemonSets: { namespaces: ['kube-system'], names: ['kube-flannel'] },
        tolerations: [{ key: MASTER.key, operator: 'Exists', effect: 'NoSchedule' }],
        existing: 'Patch',
      },
    },
  ]);
});

const BATCH: Taint = { ...GPU, value: 'batch' };
const BARE: Taint = { key: 'dedicated', effect: 'NoSchedule' };

describe('the tolerations', () => {
  it.each<{ why: string; taints: Taint[][]; keys: string[]; tolerations: object[] }>([
    { why: 'are none where no key is asked for', taints: [[GPU]], keys: [], tolerations: [] },
    {
      why: 'have the value of the taint',
      taints: [[GPU], [BATCH]],
      keys: ['dedicated'],
      tolerations: [
        { key: 'dedicated', operator: 'Equal', value: 'batch', effect: 'NoSchedule' },
        { key: 'dedicated', operator: 'Equal', value: 'gpu', effect: 'NoSchedule' },
      ],
    },
    {
      why: 'are for any value where one taint has none',
      taints: [[GPU], [BARE]],
      keys: ['ded*'],
      tolerations: [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }],
    },
    {
      why: 'keep effects apart',
      taints: [[BARE, { ...GPU, effect: 'NoExecute' }]],
      keys: ['*'],
      tolerations: [
        { key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' },
        { key: 'dedicated', operator: 'Equal', value: 'gpu', effect: 'NoExecute' },
      ],
    },
    {
      why: 'are none where another taint keeps it off all the same',
      taints: [[MASTER, GPU]],
      keys: [MASTER.key],
      tolerations: [],
    },
    { why: 'are not for what passes by itself', taints: [[NOT_READY]], keys: ['*'], tolerations: [] },
    {
      why: 'are for what stays, where something passes next to it',
      taints: [[MASTER, NOT_READY]],
      keys: ['*'],
      tolerations: [{ key: MASTER.key, operator: 'Exists', effect: 'NoSchedule' }],
    },
  ])('$why', ({ taints, keys, tolerations }) => {
    const nodes = taints.map((each, index) => node(`n${index}`, each));
    const found = fix([fixable('a')], nodes, keys).policies.flatMap(({ spec }) => spec.tolerations ?? []);
    expect(found).toEqual(tolerations);
  });
});

describe('a gap that stays open, with the reason', () => {
  it('is closed by a patch of its author if the DaemonSet has so many tolerations that policies add none', () => {
    const tolerations = manyTolerations(257);
    const [daemonSets, nodes] = [[fixable('a', { tolerations })], [node('n', [MASTER])]];
    const gaps = findGaps(daemonSets, groupNodes(daemonSets, nodes));
    expect(fixGaps(gaps, [MASTER.key], [], { byPolicies: false })).toMatchObject({
      closed: [{ daemonSet: { name: 'a' }, taints: [MASTER], nodes: [{ name: 'n' }] }],
      left: [],
    });
  });

  it.each<{ why: string; given?: Partial<FixableDaemonSet>; taints: Taint[]; because: object }>([
    { why: 'a taint not asked for', taints: [GPU, MASTER], because: { kind: 'keyNotNamed', keys: ['dedicated'] } },
    {
      why: 'a DaemonSet that policies leave alone',
      given: { annotations: { [IGNORE_ANNOTATION]: 'true' } },
      taints: [MASTER],
      because: { kind: 'optsOut' },
    },
    {
      why: 'a DaemonSet with so many tolerations that policies add none',
      given: { tolerations: manyTolerations(257) },
      taints: [MASTER],
      because: { kind: 'tooManyTolerations' },
    },
    {
      why: 'a name that would be a pattern',
      given: { name: 'a*' },
      taints: [MASTER],
      because: { kind: 'notValid' },
    },
    {
      why: 'a value that no toleration can have',
      taints: [{ ...MASTER, value: 'not valid' }],
      because: { kind: 'notValid' },
    },
  ])('$why', ({ given = {}, taints, because }) => {
    const { policies, left } = fix([fixable('a', given)], [node('n', taints)], ROLE_TAINT_KEYS);
    expect(policies).toEqual([]);
    expect(left).toMatchObject([{ because }]);
  });
});

describe('a taint that a controller removes', () => {
  const keptOff = (keys: readonly string[], taints = [NOT_READY]) =>
    fix([fixable('cni')], [node('starting', taints)], keys);

  it('is tolerated if its key is named: a CNI has to run before the taint is removed', () => {
    expect(keptOff([NOT_READY.key]).policies[0]?.spec.tolerations).toEqual([
      { key: NOT_READY.key, operator: 'Exists', effect: 'NoSchedule' },
    ]);
  });

  const AGENT: Taint = { key: 'node.cilium.io/agent-not-ready', effect: 'NoSchedule' };

  it('is not tolerated by a pattern, nor reported as a gap that stays open', () => {
    for (const keys of [['*'], ['node.kubernetes.io/*'], []]) {
      expect(keptOff(keys)).toMatchObject({ policies: [], closed: [], left: [], transient: [{ taints: [NOT_READY] }] });
    }
  });

  it('is a gap that stays open if another such taint is not named', () => {
    expect(keptOff([NOT_READY.key, '*'], [NOT_READY, AGENT])).toMatchObject({
      policies: [],
      closed: [],
      left: [{ because: { kind: 'keyNotNamed', keys: [AGENT.key] } }],
      transient: [],
    });
  });

  it('is tolerated beside a permanent one, if both are named', () => {
    const { policies, closed } = fix(
      [fixable('agent')],
      [node('a', [GPU]), node('b', [GPU, AGENT]), node('c', [GPU, NOT_READY])],
      [GPU.key, AGENT.key],
    );
    expect(policies[0]?.spec.tolerations?.map(({ key }) => key)).toEqual([GPU.key, AGENT.key]);
    expect(closed).toMatchObject([{ taints: [GPU, AGENT], nodes: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] }]);
  });

  it('is not tolerated beside a permanent one that is named alone', () => {
    const { policies } = fix([fixable('agent')], [node('b', [GPU, AGENT])], [GPU.key, '*']);
    expect(policies[0]?.spec.tolerations?.map(({ key }) => key)).toEqual([GPU.key]);
  });
});

describe('if policies in force require tolerations', () => {
  const policy = (name: string, keys: string[], mode: 'Mutate' | 'Audit' = 'Mutate') =>
    compileTolerationPolicy({
      kind: 'TolerationPolicy',
      name,
      spec: {
        mode,
        daemonSets: { namespaces: ['*'] },
        tolerations: keys.map((key) => ({ key, operator: 'Exists' })),
      },
    });

  it.each<{ why: string; inForce: CompiledTolerationPolicy[]; because: object[] }>([
    {
      why: 'for all of them, the gap is left to them',
      inForce: [policy('a', [GPU.key]), policy('b', [MASTER.key, GPU.key])],
      because: [{ kind: 'alreadyRequired', by: ['b', 'a'] }],
    },
    {
      why: 'for all of them, even one that --taint does not name, the gap is left to them',
      inForce: [policy('a', [GPU.key, MASTER.key])],
      because: [{ kind: 'alreadyRequired', by: ['a'] }],
    },
    {
      why: 'for some of them, the gap is as if they did not',
      inForce: [policy('a', [MASTER.key])],
      because: [{ kind: 'keyNotNamed', keys: [GPU.key] }],
    },
    {
      why: 'and only report what is missing, the gap is as if they did not',
      inForce: [policy('a', [MASTER.key, GPU.key], 'Audit')],
      because: [{ kind: 'keyNotNamed', keys: [GPU.key] }],
    },
  ])('$why', ({ inForce, because }) => {
    const daemonSets = [fixable('d')];
    const gaps = findGaps(daemonSets, groupNodes(daemonSets, [node('n', [MASTER, GPU])]));
    const { policies, left } = fixGaps(gaps, ROLE_TAINT_KEYS, inForce);
    expect(policies).toEqual([]);
    expect(left).toMatchObject(because.map((one) => ({ because: one })));
  });

  it('but admission does not add one to a DaemonSet that tolerates the role taint without its value, the gap is closed', () => {
    const withValue = { ...CONTROL_PLANE, value: 'true' };
    const daemonSets = [fixable('d', { tolerations: [{ key: CONTROL_PLANE.key, effect: 'NoSchedule' }] })];
    const gaps = findGaps(daemonSets, groupNodes(daemonSets, [node('n', [withValue])]));
    const inForce = compilePolicies([
      { kind: 'TolerationPolicy', name: 'roles', spec: { mode: 'Mutate', daemonSets: { namespaces: ['*'] } } },
    ]);
    const { policies, left } = fixGaps(gaps, ROLE_TAINT_KEYS, inForce.tolerationPolicies);
    expect(left).toEqual([]);
    expect(policies[0]?.spec.tolerations).toEqual([{ ...withValue, operator: 'Equal' }]);
  });
});

it('DaemonSets of a namespace with the same needs share a policy, up to the limits of the CRD', () => {
  const many = Array.from({ length: 65 }, (_, index) => fixable(`d${index}`));
  const other = fixable('o', { tolerations: [{ key: MASTER.key, operator: 'Exists' }] });
  const elsewhere = fixable('d0', { namespace: 'monitoring' });
  const { policies } = fix([...many, other, elsewhere], NODES, ROLE_TAINT_KEYS);
  expect(
    policies.map(({ metadata, spec }) => [
      metadata.name.split('.')[0],
      spec.daemonSets.names?.length,
      spec.tolerations?.map(({ key }) => key?.split('/')[1]).join(),
    ]),
  ).toEqual([
    ['coverage-kube-system', 64, 'control-plane,master'],
    ['coverage-kube-system', 1, 'control-plane,master'],
    ['coverage-kube-system', 1, 'control-plane'],
    ['coverage-monitoring', 1, 'control-plane,master'],
  ]);
  expect(new Set(policies.map(({ metadata }) => metadata.name)).size).toBe(4);
});

it('applied, does not replace the policies of an earlier fix', () => {
  const names = (...daemonSets: FixableDaemonSet[]) =>
    fix(daemonSets, NODES, ROLE_TAINT_KEYS).policies.map(({ metadata }) => metadata.name);
  const [a, b] = [fixable('a'), fixable('b')];
  expect(names(a)).toEqual(names(a));
  expect(names(a)).not.toEqual(names(b));
});

describe('applied', () => {
  const world = fc.record({
    nodes: fc.array(taints, { minLength: 1, maxLength: 6 }).map((all) => all.map((each, i) => node(`n${i}`, each))),
    daemonSets: fc
      .array(
        fc.record({
          namespace: fc.constantFrom('kube-system', 'monitoring'),
          nodeSelector: fc.constantFrom({}, {}, { pool: 'a' }),
          annotations: fc.constantFrom<Record<string, string>>({}, {}, { [IGNORE_ANNOTATION]: 'true' }),
          tolerations,
        }),
        { minLength: 1, maxLength: 5 },
      )
      .map((all) => all.map((each, i) => fixable(`d${i}`, each))),
    keys: fc.subarray(['dedicated', 'example.com/*', 'example.com/b', 'node.kubernetes.io/not-ready']),
  });

  it('closes exactly the reported gaps, adds nothing else, and leaves none of them for a second run', () => {
    fc.assert(
      fc.property(world, ({ nodes, daemonSets, keys }) => {
        const result = fix(daemonSets, nodes, keys);
        const policies = compiled(result);
        const closed = new Set(
          result.closed.flatMap((gap) => gap.nodes.map((each) => `${gap.daemonSet.name} ${each.name}`)),
        );
        for (const before of daemonSets) {
          const after = applied(before, policies);
          // What passes by itself is taken to have passed, unless it is named.
          const steady = nodes.map((each) => ({
            ...each,
            taints: each.taints.filter(({ key }) => keys.includes(key) || !isTransientTaintKey(key)),
          }));
          for (const each of steady) {
            const ran = compileCoverage(before)(each).runs;
            expect(compileCoverage(after)(each).runs).toBe(ran || closed.has(`${before.name} ${each.name}`));
          }
          // Every toleration that was added is needed: without it, some node is lost.
          for (const added of after.tolerations.slice(before.tolerations.length)) {
            const without = { ...after, tolerations: after.tolerations.filter((other) => other !== added) };
            const lost = steady.filter(
              (each) => compileCoverage(after)(each).runs && !compileCoverage(without)(each).runs,
            );
            expect(lost).not.toEqual([]);
          }
        }
        const again = fix(
          daemonSets.map((each) => applied(each, policies)),
          nodes,
          keys,
        );
        expect(again.policies).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('reports a reason for each gap that stays open', () => {
    fc.assert(
      fc.property(world, ({ nodes, daemonSets, keys }) => {
        for (const { gap, because } of fix(daemonSets, nodes, keys).left) {
          const others = gap.taints.filter(({ key }) => !keys.some((pattern) => matchesPattern(pattern, key)));
          expect(gap.isTransient).toBe(false);
          const optsOut = gap.daemonSet.annotations[IGNORE_ANNOTATION] !== undefined;
          expect(because.kind).toBe(optsOut ? 'optsOut' : 'keyNotNamed');
          expect(optsOut || others.length > 0).toBe(true);
        }
      }),
    );
  });
});
