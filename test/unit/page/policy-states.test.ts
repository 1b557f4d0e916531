import { describe, expect, it } from 'vitest';
import { type PolicyInForce, type PolicyObject, viewPolicy } from '../../../src/cluster/policies/policy-object.ts';
import { clusterPolicyStates, filedPolicyStates } from '../../../src/page/policy-states.ts';
import type { Place } from '../../../src/page/state.ts';
import type { Policy, PolicyKind } from '../../../src/policy/policy.ts';

const object = (
  name: string,
  spec: unknown,
  { status, generation = 1, known }: { status?: unknown; generation?: number; known?: PolicyInForce | undefined } = {},
): PolicyObject =>
  viewPolicy('TaintPolicy', { metadata: { name, uid: name, generation, resourceVersion: '1' }, spec, status }, known);

const KEEP = { mode: 'Deny', taints: [{ key: 'keep' }] };

describe('policies of a cluster', () => {
  it('come with the status that was written last, by name', () => {
    const condition = { type: 'Ready', status: 'True', reason: 'InForce', message: 'yes', observedGeneration: 1 };
    const lastTransitionTime = '2026-11-21T10:00:00Z';
    const status = { matched: 3, violating: 1, violators: ['n1'], conditions: [{ ...condition, lastTransitionTime }] };

    expect(clusterPolicyStates([object('b', KEEP), object('a', KEEP, { status })], false)).toEqual([
      {
        kind: 'TaintPolicy',
        name: 'a',
        mode: 'Deny',
        valid: true,
        problems: [],
        spec: 'mode: Deny\ntaints:\n  - key: keep\n',
        matched: 3,
        violating: 1,
        violators: [{ text: 'n1', place: { tab: 'nodes', object: 'n1' } }],
        summary: { level: 'attention', word: 'in force, taints missing on 1 node', why: '' },
        conditions: [
          {
            ...{ type: 'Ready', status: 'True', reason: 'InForce', message: 'yes', since: lastTransitionTime },
            level: 'quiet',
          },
        ],
      },
      expect.objectContaining({ name: 'b', violators: [], conditions: [] }),
    ]);
  });

  it('say what is wrong with one that cannot be used', () => {
    const [state] = clusterPolicyStates([object('idle', { mode: 'Deny', taints: [{ key: 'a b' }] })], false);
    expect(state).toMatchObject({
      valid: false,
      spec: '',
      problems: [expect.stringMatching(/^spec\.taints\[0\]\.key: /)],
    });
    expect(state).not.toHaveProperty('mode');
  });

  it('show of one that cannot be used any more what stays in force', () => {
    const known = object('kept', KEEP).inForce;
    const spoiled = object('kept', { ...KEEP, mode: 'Warn' }, { generation: 2, known });
    expect(clusterPolicyStates([spoiled], false)).toMatchObject([
      {
        mode: 'Deny',
        valid: false,
        generationInForce: 1,
        problems: [expect.stringMatching(/^spec\.mode: /)],
        spec: 'mode: Deny\ntaints:\n  - key: keep\n',
      },
    ]);
  });

  it.each<{ kind: PolicyKind; violator: string; place?: Place }>([
    { kind: 'TaintPolicy', violator: 'n1', place: { tab: 'nodes', object: 'n1' } },
    { kind: 'TolerationPolicy', violator: 'ns/a', place: { tab: 'coverage', object: 'ns/a' } },
    { kind: 'RecoveryPolicy', violator: 'ns/a-x1' },
  ])('say where a violator of a $kind is shown', ({ kind, violator, place }) => {
    const status = { violating: 1, violators: [violator], conditions: [] };
    const [state] = clusterPolicyStates([{ ...object('a', KEEP, { status }), kind }], false);
    expect(state?.violators).toEqual([{ text: violator, ...(place ? { place } : {}) }]);
  });

  it('are in mode Audit where all are', () => {
    expect(clusterPolicyStates([object('a', KEEP)], true)).toMatchObject([{ mode: 'Audit' }]);
  });
});

describe('the summary of a policy', () => {
  const condition = (type: string, status: string, reason: string, message: string) => ({
    ...{ type, status, reason, message, lastTransitionTime: '2026-11-21T10:00:00Z', observedGeneration: 1 },
  });
  const summaryOf = (policy: PolicyObject) => clusterPolicyStates([policy], false)[0]?.summary;
  const SPOILED = { ...KEEP, mode: 'Warn' };

  it('is failed if the policy cannot be used', () => {
    expect(summaryOf(object('a', SPOILED))).toEqual({
      level: 'failed',
      word: 'not in force',
      why: expect.stringMatching(/^spec\.mode: /),
    });
  });

  it('needs attention if an earlier generation stays in force', () => {
    const known = object('a', KEEP).inForce;
    expect(summaryOf(object('a', SPOILED, { generation: 2, known }))).toEqual({
      level: 'attention',
      word: 'in force as it was',
      why: expect.stringMatching(
        /^generation 1 stays in force until taintkeeper restarts; the present one cannot be used: spec\.mode: /,
      ),
    });
  });

  it('is that of the worst condition', () => {
    const undeclared = condition('Ready', 'True', 'PoolLacksTaint', 'no pool has it');
    const stalled = condition('Stalled', 'True', 'RepairRefused', 'refused');
    const unregistered = condition('Ready', 'False', 'NotRegistered', 'no webhook');
    const of = (...conditions: unknown[]) => summaryOf(object('a', KEEP, { status: { violating: 2, conditions } }));
    expect(of(undeclared)).toEqual({ level: 'attention', word: 'in force, not declared', why: 'no pool has it' });
    expect(of(undeclared, stalled)).toMatchObject({ level: 'attention', word: 'stalled', why: 'refused' });
    expect(of(stalled, unregistered)).toMatchObject({ level: 'failed', word: 'not in force', why: 'no webhook' });
  });

  it.each<{ kind: PolicyKind; violating: number; word: string }>([
    { kind: 'TaintPolicy', violating: 0, word: 'in force' },
    { kind: 'TaintPolicy', violating: 5_000, word: 'in force, taints missing on 5,000 nodes' },
    { kind: 'TolerationPolicy', violating: 1, word: 'in force, tolerations missing on 1 DaemonSet' },
    { kind: 'RecoveryPolicy', violating: 2, word: 'in force, 2 stuck pods' },
  ])('without such a condition counts the violators: $word', ({ kind, violating, word }) => {
    const policy = { ...object('a', KEEP, { status: { violating } }), kind, inForce: undefined };
    expect(summaryOf(policy)).toEqual({ level: violating === 0 ? 'ok' : 'attention', word, why: '' });
  });
});

describe('policies of files', () => {
  it('say of a TolerationPolicy whether it patches DaemonSets that exist', () => {
    const policies = (['Patch', 'Report', undefined] as const).map(
      (existing, index): Policy => ({
        ...{ kind: 'TolerationPolicy', name: `p${index}` },
        spec: { mode: 'Mutate', daemonSets: { namespaces: ['*'] }, ...(existing ? { existing } : {}) },
      }),
    );
    expect(filedPolicyStates(policies, false).map(({ patchesExisting }) => patchesExisting)).toEqual([
      true,
      undefined,
      undefined,
    ]);
  });
});
