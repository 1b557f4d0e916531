import { describe, expect, it } from 'vitest';
import { establishment } from '../../../src/judge/establishment.ts';
import { type NodeRecord, withRecord } from '../../../src/judge/node-record.ts';
import type { Machine } from '../../../src/kubernetes/machine.ts';
import { formatTaint, type Taint } from '../../../src/kubernetes/taint.ts';
import { policySet } from '../policy/policies.ts';
import { type Policies, rule } from './node-drifts.ts';
import { gpu, judgeUpdate, outcomes, policyOf } from './node-updates.ts';

const STARTING: readonly Taint[] = [
  { key: 'node.gardener.cloud/critical-components-not-ready', effect: 'NoSchedule' },
  { key: 'UpdateInProgress', effect: 'PreferNoSchedule' },
  { key: 'skyhook.nvidia.com', value: 'runtime-required', effect: 'NoSchedule' },
  { key: 'odigos.io/needs-init', effect: 'NoSchedule' },
  // No list has it.
  { key: 'boot.example.com/preparing', value: 'yes', effect: 'NoExecute' },
];

describe.each(['Deny', 'Restore'] as const)('a node that starts under a pattern in mode %s', (mode) => {
  const policies = policyOf(mode, [{ key: '*', restrict: ['Removal'] }]);

  it.each(STARTING)('becomes usable: its operator takes $key off', (taint) => {
    const update = { before: [gpu, taint], after: [gpu], recorded: formatTaint(gpu) };
    expect(judgeUpdate(policies, 'mutate', update)).toMatchObject({ action: 'allow', violations: [] });
    expect(judgeUpdate(policies, 'validate', update)).toMatchObject({ action: 'allow', violations: [] });
  });

  it('keeps what its record lists', () => {
    const update = { before: [gpu], after: [], recorded: formatTaint(gpu) };
    const phase = mode === 'Deny' ? 'validate' : 'mutate';
    expect(outcomes(judgeUpdate(policies, phase, update))).toEqual([
      `p ${mode === 'Deny' ? 'denied' : 'restored'} dedicated=gpu:NoSchedule`,
    ]);
  });

  it('does not keep what its record lists as removed with permission', () => {
    const update = { before: [gpu], after: [], recordedRemovals: formatTaint(gpu) };
    expect(judgeUpdate(policies, 'mutate', update)).toMatchObject({ action: 'allow', violations: [] });
    expect(judgeUpdate(policies, 'validate', update).action).toBe('allow');
  });

  it('keeps what an exact key names, at once', () => {
    const exact = policyOf(mode, [
      { key: '*', restrict: ['Removal'] },
      { key: 'dedicated', restrict: ['Removal'] },
    ]);
    expect(judgeUpdate(exact, 'validate', { before: [gpu], after: [] }).action).toBe('deny');
  });
});

it('an Audit policy reports the removal of a taint that matches a pattern before it is established', () => {
  const audit = policyOf('Audit', [{ key: '*', restrict: ['Removal'] }]);
  expect(outcomes(judgeUpdate(audit, 'validate', { before: [gpu], after: [] }))).toEqual([
    'p audited dedicated=gpu:NoSchedule',
  ]);
});

const MACHINE: Machine = { systemUUID: 'ec2-1', providerID: '' };
const recordOf = (...taints: readonly Taint[]): NodeRecord => ({
  uid: 'u1',
  machine: MACHINE,
  taints: taints.map((taint) => ({ ...taint, value: taint.value ?? '', policies: ['p'] })),
});

const removedFrom = (record: NodeRecord): NodeRecord => ({
  ...record,
  taints: record.taints.map((taint) => ({ ...taint, removedAt: 0 })),
});

describe('a record', () => {
  it.each<[why: string, record: NodeRecord | undefined, uid: string | undefined, listed: boolean]>([
    ['none', undefined, 'u1', false],
    ['the taint', recordOf(gpu), 'u1', true],
    ['another value', recordOf({ ...gpu, value: 'cpu' }), 'u1', false],
    ['no value', recordOf({ ...gpu, value: '' }), 'u1', false],
    ['another effect', recordOf({ ...gpu, effect: 'NoExecute' }), 'u1', false],
    ['the taint as removed with permission', removedFrom(recordOf(gpu)), 'u1', false],
    ['the taint, of an earlier node', recordOf(gpu), 'u2', false],
    ['the taint, and the uid is not known', recordOf(gpu), undefined, false],
  ])('of %s: %#', (_why, record, uid, listed) => {
    const { established, recorded } = withRecord({}, record, uid);
    expect(established(gpu)).toBe(listed);
    expect(recorded).toEqual(record?.uid === uid ? record?.taints : []);
  });
});

describe('the leader', () => {
  const wildcard = (more: object = {}, key = '*') => rule('Restore', { key, restrict: ['Removal'], ...more });
  const establishedAfter = (
    stayedMs: number | undefined,
    {
      policies = { p: wildcard() },
      record,
      uid = 'u1',
      machine = MACHINE,
      audit = false,
    }: {
      policies?: Policies;
      record?: NodeRecord;
      uid?: string;
      machine?: Machine;
      audit?: boolean;
    } = {},
  ) => {
    const node = { labels: {}, taints: [gpu], uid, machine };
    const { taintPolicies } = policySet({ taint: policies }, { audit });
    const { established, nextInMs } = establishment(node, record, taintPolicies, () => stayedMs);
    return { established: established(gpu), nextInMs };
  };

  it.each<[why: string, stayedMs: number | undefined, established: boolean, left?: number]>([
    ['not while the node is not Ready', undefined, false],
    ['not before ten minutes', 599_999, false, 1],
    ['after ten minutes', 600_000, true],
  ])('establishes a taint: %s', (_why, stayedMs, established, nextInMs) => {
    expect(establishedAfter(stayedMs)).toEqual({ established, nextInMs });
  });

  it('does not establish a taint that matches no pattern of a policy', () => {
    const policies = { a: wildcard({ except: ['dedicated'] }), b: wildcard({}, 'other*') };
    expect(establishedAfter(600_000, { policies })).toEqual({ established: false, nextInMs: undefined });
  });

  it('takes as established what the record lists, however short it has seen it', () => {
    expect(establishedAfter(0, { record: recordOf(gpu) })).toEqual({ established: true, nextInMs: undefined });
  });

  it('takes what an earlier node carried on the same machine, and not on another one', () => {
    const record = recordOf(gpu);
    expect(establishedAfter(0, { record, uid: 'u2' }).established).toBe(true);
    const machine = { ...MACHINE, systemUUID: 'ec2-2' };
    expect(establishedAfter(0, { record, uid: 'u2', machine })).toEqual({ established: false, nextInMs: 600_000 });
  });

  it('takes what the record of this very Node lists, whatever the Node says of its machine', () => {
    const machine = { ...MACHINE, systemUUID: 'ec2-2' };
    expect(establishedAfter(0, { record: recordOf(gpu), machine }).established).toBe(true);
  });

  it('waits with --audit as well: what is recorded meanwhile is protected as soon as that ends', () => {
    expect(establishedAfter(0, { audit: true })).toEqual({ established: false, nextInMs: 600_000 });
  });

  it('says when the next of several taints will be established', () => {
    const { taintPolicies } = policySet({
      taint: { p: wildcard(), exact: rule('Deny', { key: 'free', restrict: ['Removal'] }) },
    });
    const late: Taint = { key: 'late', effect: 'NoSchedule' };
    const node = { labels: {}, taints: [late, gpu], uid: 'u1', machine: MACHINE };
    const stayedMs = (taint: Taint) => (taint === gpu ? 500_000 : 200_000);
    expect(establishment(node, undefined, taintPolicies, stayedMs).nextInMs).toBe(100_000);
  });

  it('establishes nothing, and awaits nothing, for policies without a pattern', () => {
    const policies = { p: rule('Restore', { key: 'dedicated', restrict: ['Removal'] }) };
    expect(establishedAfter(600_000, { policies })).toEqual({ established: false, nextInMs: undefined });
    expect(establishedAfter(0, { policies })).toEqual({ established: false, nextInMs: undefined });
  });
});
