import { describe, expect, it } from 'vitest';
import { settledOn } from '../../../src/judge/memory.ts';
import { nodeDrift } from '../../../src/judge/node-drift.ts';
import { formatTaint, type Taint } from '../../../src/kubernetes/taint.ts';
import { policySet } from '../policy/policies.ts';
import { nodeOf, rule } from './node-drifts.ts';
import { gpu, judgeUpdate, outcomes, policyOf } from './node-updates.ts';

const STARTING: readonly Taint[] = [
  { key: 'node.gardener.cloud/critical-components-not-ready', effect: 'NoSchedule' },
  { key: 'UpdateInProgress', effect: 'PreferNoSchedule' },
  { key: 'skyhook.nvidia.com', value: 'runtime-required', effect: 'NoSchedule' },
  { key: 'odigos.io/needs-init', effect: 'NoSchedule' },
  // No list has it.
  { key: 'boot.example.com/preparing', value: 'yes', effect: 'NoExecute' },
];

describe.each(['Deny', 'Restore'] as const)('a node that starts under a wildcard in mode %s', (mode) => {
  const policies = policyOf(mode, [{ key: '*', restrict: ['Removal'] }]);

  it.each(STARTING)('becomes usable: its operator takes $key off', (taint) => {
    const update = { before: [gpu, taint], after: [gpu], oldRemembered: 'dedicated=gpu:NoSchedule' };
    expect(judgeUpdate(policies, 'mutate', update)).toMatchObject({ verdict: 'allow', violations: [] });
    expect(judgeUpdate(policies, 'validate', update)).toMatchObject({ verdict: 'allow', violations: [] });
  });

  it('keeps what its memory has', () => {
    const update = { before: [gpu], after: [], oldRemembered: formatTaint(gpu) };
    const phase = mode === 'Deny' ? 'validate' : 'mutate';
    expect(outcomes(judgeUpdate(policies, phase, update))).toEqual([
      `p ${mode === 'Deny' ? 'denied' : 'restored'} dedicated=gpu:NoSchedule`,
    ]);
  });

  it('keeps it though the same request takes the memory away', () => {
    const update = { before: [gpu], after: [], oldRemembered: formatTaint(gpu), newRemembered: '' };
    expect(judgeUpdate(policies, 'validate', update).verdict).toBe('deny');
  });

  it('does not have a new taint written into its memory by whoever sets it', () => {
    expect(judgeUpdate(policies, 'mutate', { before: [], after: [gpu] }).verdict).toBe('allow');
  });

  it('keeps what an exact key names, at once', () => {
    const exact = policyOf(mode, [
      { key: '*', restrict: ['Removal'] },
      { key: 'dedicated', restrict: ['Removal'] },
    ]);
    expect(judgeUpdate(exact, 'validate', { before: [gpu], after: [] }).verdict).toBe('deny');
  });

  it('keeps everything at once with settleSeconds: 0', () => {
    const atOnce = policyOf(mode, [{ key: '*', restrict: ['Removal'] }], { settleSeconds: 0 });
    expect(judgeUpdate(atOnce, 'validate', { before: [gpu], after: [] }).verdict).toBe('deny');
  });
});

it('a memory that goes in the same request comes back with what Restore puts back', () => {
  const policies = policyOf('Restore', [{ key: '*', restrict: ['Removal'] }]);
  const update = { before: [gpu], after: [], oldRemembered: formatTaint(gpu), newRemembered: '' };
  expect(judgeUpdate(policies, 'mutate', update)).toMatchObject({ desired: { remembered: formatTaint(gpu) } });
});

it('a value that takes the place of a released one begins anew', () => {
  const policies = policyOf('Restore', [{ key: '*', restrict: ['Removal'] }]);
  const update = {
    ...{ before: [gpu], after: [{ ...gpu, value: 'cpu' }], oldRemembered: formatTaint(gpu) },
    ...{ oldAllowRemoval: formatTaint(gpu), newRelease: formatTaint(gpu) },
  };
  expect(judgeUpdate(policies, 'mutate', update)).toMatchObject({ desired: { remembered: undefined } });
});

it('an Audit policy reports what a wildcard means without waiting', () => {
  const audit = policyOf('Audit', [{ key: '*', restrict: ['Removal'] }]);
  expect(outcomes(judgeUpdate(audit, 'validate', { before: [gpu], after: [] }))).toEqual([
    'p audited dedicated=gpu:NoSchedule',
  ]);
});

describe('which taints have settled', () => {
  it.each<[remembered: string | undefined, settled: boolean, why: string]>([
    [undefined, false, 'nothing is remembered'],
    ['dedicated=gpu:NoSchedule', true, ''],
    ['a:NoSchedule ,\tdedicated=gpu:NoSchedule ', true, 'blanks do not count'],
    ['dedicated=cpu:NoSchedule', false, 'another value'],
    ['dedicated:NoSchedule', false, 'no value'],
    ['dedicated=gpu:NoExecute', false, 'another effect'],
    [`${'a:NoSchedule,'.repeat(63)}dedicated=gpu:NoSchedule`, true, 'the last of 64'],
    [`${'a:NoSchedule,'.repeat(64)}dedicated=gpu:NoSchedule`, true, 'one more, as the API server cuts it up'],
    [`${'a:NoSchedule,'.repeat(65)}dedicated=gpu:NoSchedule`, false, 'too many'],
    [`dedicated=gpu:NoSchedule,${'x'.repeat(40_000)}`, false, 'too long to look at'],
  ])('%.60j: %s %s', (remembered, settled) => {
    expect(settledOn(remembered)(gpu)).toBe(settled);
  });
});

describe('the leader', () => {
  const HOUR = 3_600_000;
  const policiesOf = (seconds?: number) =>
    policySet({
      taint: {
        p: rule(
          'Restore',
          { key: '*', restrict: ['Removal'] },
          seconds === undefined ? {} : { settleSeconds: seconds },
        ),
      },
    });
  const driftAfter = (
    stayedMs: number | undefined,
    { seconds, remembered }: { seconds?: number; remembered?: string } = {},
  ) => nodeDrift(nodeOf([gpu], { remembered }), policiesOf(seconds).taintPolicies, { stayedMs: () => stayedMs });

  it.each<[why: string, stayedMs: number | undefined, seconds: number | undefined, written: boolean, left?: number]>([
    ['not while the node is not Ready', undefined, undefined, false],
    ['not before ten minutes', 599_999, undefined, false, 1],
    ['after ten minutes', 600_000, undefined, true],
    ['after as long as the policy says', 30_000, 30, true],
    ['not before', 29_000, 30, false, 1_000],
  ])('writes down what has settled: %s', (_why, stayedMs, seconds, written, left) => {
    const drift = driftAfter(stayedMs, seconds === undefined ? {} : { seconds });
    expect(drift.desired?.remembered).toBe(written ? formatTaint(gpu) : undefined);
    expect(drift.settlesInMs).toBe(left);
  });

  it('goes by the shortest of the policies that mean the taint', () => {
    const { taintPolicies } = policySet({
      taint: {
        a: rule('Deny', { key: '*', restrict: ['Removal'] }, { settleSeconds: 60 }),
        b: rule('Restore', { key: 'dedi*', restrict: ['Removal'] }, { settleSeconds: 10 }),
        c: rule('Restore', { key: '*', except: ['dedicated'], restrict: ['Removal'] }, { settleSeconds: 1 }),
      },
    });
    expect(nodeDrift(nodeOf([gpu]), taintPolicies, { stayedMs: () => 4_000 }).settlesInMs).toBe(6_000);
  });

  it('puts back what has settled and was lost, and keeps it in the memory', () => {
    const drift = nodeDrift(nodeOf([], { remembered: formatTaint(gpu) }), policiesOf().taintPolicies);
    expect(drift.desired).toMatchObject({ taints: [gpu], remembered: formatTaint(gpu) });
  });

  it('forgets nothing that stands in the memory, however short it has seen it', () => {
    expect(driftAfter(0, { remembered: formatTaint(gpu) })).toMatchObject({
      desired: undefined,
      settlesInMs: undefined,
    });
  });

  it('leaves a value in the memory that the node has lost, whatever it carries instead', () => {
    const node = nodeOf([{ ...gpu, value: 'cpu' }], { remembered: formatTaint(gpu) });
    const drift = nodeDrift(node, policiesOf().taintPolicies, { stayedMs: () => HOUR });
    expect(drift).toMatchObject({ desired: undefined, unlisted: [], losses: [{ taint: gpu, hindrance: 'held' }] });
  });

  it('says what finds no room in the memory', () => {
    const many = Array.from({ length: 66 }, (_, index): Taint => ({ key: `k-${index}`, effect: 'NoSchedule' }));
    const { taintPolicies } = policiesOf();
    const first = nodeDrift(nodeOf(many), taintPolicies, { stayedMs: () => HOUR });
    expect(first.unlisted.map(({ key }) => key)).toEqual(['k-64', 'k-65']);
    const after = nodeOf(many, { remembered: first.desired?.remembered });
    const next = nodeDrift(after, taintPolicies, { stayedMs: () => HOUR });
    expect(next).toMatchObject({ desired: undefined, settlesInMs: undefined, unlisted: first.unlisted });
  });
});
