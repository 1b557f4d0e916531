import { describe, expect, it } from 'vitest';
import { MAX_VIOLATORS, nextPolicyStatus, type StatusInput } from '../../../src/policy/policy-status.ts';

const NOW = new Date('2026-06-01T12:00:00.123Z');
const LATER = new Date('2026-06-02T12:00:00.456Z');

const SPEC = { mode: 'Deny', taints: [{ key: 'a', restrict: ['Removal'] }] };

const status = (input: Partial<StatusInput> = {}) =>
  nextPolicyStatus({
    before: undefined,
    generation: 3,
    problems: [],
    inForce: { generation: 3, spec: SPEC, ignored: [] },
    notRegistered: undefined,
    stalled: [],
    audit: false,
    findings: { matched: 5, violators: ['n2', 'n1'] },
    now: NOW,
    ...input,
  });

it('says what generation it is about, how many objects match, and which of them violate', () => {
  expect(status()).toEqual({
    observedGeneration: 3,
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'InForce',
        message: 'the policy is in force',
        observedGeneration: 3,
        lastTransitionTime: '2026-06-01T12:00:00Z',
      },
    ],
    inForce: { generation: 3, spec: SPEC },
    matched: 5,
    violating: 2,
    violators: ['n2', 'n1'],
  });
});

it('says what its author should know', () => {
  const [ready] = status({ notes: ['"*" matches every taint', 'and so on'] }).conditions ?? [];
  expect(ready?.message).toBe('the policy is in force; "*" matches every taint; and so on');
});

it('does not change by the passing of time', () => {
  const before = status();
  expect(status({ before, now: LATER })).toEqual(before);
});

it('names only so many, and counts all', () => {
  const violators = Array.from({ length: 50 }, (_, index) => `n${index}`);
  const { violating, violators: named } = status({ findings: { matched: 100, violators } });
  expect(violating).toBe(50);
  expect(named).toEqual(violators.slice(0, MAX_VIOLATORS));
});

it('says when nothing is enforced although the policy is in force', () => {
  expect(status({ audit: true })).toMatchObject({
    audit: true,
    conditions: [{ status: 'True', message: 'the policy is in force, as Audit: taintkeeper runs with --audit' }],
  });
  expect(status()).not.toHaveProperty('audit');
});

it('says while the webhook is registered and was not called over its Service', () => {
  expect(status({ unverified: 'no route' }).conditions?.[1]).toMatchObject({
    type: 'Unverified',
    status: 'True',
    reason: 'ServiceNotReachable',
    message: 'the webhook was registered without a call over its Service: no route',
  });
});

it('says while nodes wait for a taint that evicts pods', () => {
  const evicting = { status: 'True', reason: 'Paced', message: '2 nodes' } as const;
  expect(status({ evicting }).conditions?.[1]).toMatchObject({ type: 'Evicting', ...evicting });
  expect(status().conditions).toHaveLength(1);
});

it('says which node pools do not declare a taint', () => {
  const undeclared = { status: 'True', reason: 'Undeclared', message: 'NodePool gpu' } as const;
  expect(status({ undeclared }).conditions?.[1]).toMatchObject({ type: 'PoolLacksTaint', ...undeclared });
});

describe('Ready', () => {
  const ready = (input: Partial<StatusInput>) => status(input).conditions?.[0];

  it.each<{ why: string; input: Partial<StatusInput>; expected: object }>([
    {
      why: 'False for a policy that cannot be used, with each field at fault',
      input: {
        problems: [
          { path: ['spec', 'taints', 0, 'key'], message: 'protects nothing' },
          { path: ['spec', 'existing'], message: 'not supported' },
        ],
        inForce: undefined,
        findings: undefined,
      },
      expected: {
        status: 'False',
        reason: 'Invalid',
        message: 'spec.taints[0].key: protects nothing; spec.existing: not supported',
      },
    },
    {
      why: 'False for a policy of which an earlier generation stays in force, and says which',
      input: {
        problems: [{ path: ['spec', 'mode'], message: 'expected Deny' }],
        inForce: { generation: 2, spec: SPEC, ignored: [] },
      },
      expected: {
        status: 'False',
        reason: 'Invalid',
        message: 'generation 2 stays in force; generation 3 cannot be used: spec.mode: expected Deny',
      },
    },
    {
      why: 'False while the API server does not call the webhook',
      input: { notRegistered: 'the Service does not answer' },
      expected: {
        status: 'False',
        reason: 'NotRegistered',
        message: 'the API server does not call the webhook yet: the Service does not answer',
      },
    },
  ])('is $why', ({ input, expected }) => {
    expect(ready(input)).toMatchObject(expected);
  });

  it('keeps the time of its last transition while only its message changes, and moves it when it turns', () => {
    const before = status({ notRegistered: 'a' });
    expect(ready({ before, notRegistered: 'b', now: LATER })).toMatchObject({
      lastTransitionTime: '2026-06-01T12:00:00Z',
    });
    expect(ready({ before, now: LATER })).toMatchObject({
      status: 'True',
      lastTransitionTime: '2026-06-02T12:00:00Z',
    });
  });

  it('has a message that fits, however much is wrong', () => {
    const problems = Array.from({ length: 5_000 }, (_, index) => ({ path: ['spec', index], message: 'x'.repeat(300) }));
    expect(ready({ problems })?.message.length).toBeLessThan(32_768);
  });
});

it('carries what is in force, for whoever starts later; of what never was, nothing', () => {
  expect(status({ inForce: { generation: 1, spec: SPEC, ignored: [] } }).inForce).toEqual({
    generation: 1,
    spec: SPEC,
  });
  expect(status({ inForce: undefined })).not.toHaveProperty('inForce');
});

it('names the fields that are ignored because this version does not know them', () => {
  const inForce = { generation: 3, spec: SPEC, ignored: [['spec', 'taints', 0, 'later']] };
  expect(status({ inForce }).conditions).toMatchObject([
    { type: 'Ready', status: 'True' },
    {
      type: 'FieldsIgnored',
      status: 'True',
      reason: 'UnknownFields',
      message: expect.stringMatching(
        /^spec\.taints\[0\]\.later: this version of taintkeeper does not know this field; /,
      ),
    },
  ]);
});

describe('Stalled', () => {
  const contested = { reason: 'TaintContested', message: 'taint a is left alone' };
  const paused = { reason: 'RolloutPaused', message: 'DaemonSet b waits for its rollout' };
  const stalled = (input: Partial<StatusInput>) => status(input).conditions?.find(({ type }) => type === 'Stalled');

  it('is there only while something is not done, and says beside Ready what that is', () => {
    const before = status({ stalled: [contested] });
    expect(before.conditions).toMatchObject([
      { type: 'Ready', status: 'True' },
      {
        type: 'Stalled',
        status: 'True',
        reason: 'TaintContested',
        message: 'taint a is left alone',
        observedGeneration: 3,
        lastTransitionTime: '2026-06-01T12:00:00Z',
      },
    ]);
    expect(stalled({ before, now: LATER })).toBeUndefined();
  });

  it('tells of everything in one message, with the reason of the first', () => {
    expect(stalled({ stalled: [paused, contested] })).toMatchObject({
      reason: 'RolloutPaused',
      message: 'DaemonSet b waits for its rollout; taint a is left alone',
    });
  });

  it('keeps its time while it lasts, whatever the reason, and has another one when it comes again', () => {
    const before = status({ stalled: [contested] });
    expect(stalled({ before, stalled: [paused], now: LATER })).toMatchObject({
      lastTransitionTime: '2026-06-01T12:00:00Z',
    });
    expect(stalled({ before: status({ before }), stalled: [contested], now: LATER })).toMatchObject({
      lastTransitionTime: '2026-06-02T12:00:00Z',
    });
  });

  it('has a message that fits, however much is not done', () => {
    const many = Array.from({ length: 1_000 }, () => ({ reason: 'TaintContested', message: 'x'.repeat(1_000) }));
    const { message = '' } = stalled({ stalled: many }) ?? {};
    expect(message).toMatch(/; and 985 more$/);
    expect(message.length).toBeLessThan(32_768);
  });
});
