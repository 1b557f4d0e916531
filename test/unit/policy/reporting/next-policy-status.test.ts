import { describe, expect, it } from 'vitest';
import { nextPolicyStatus, type StatusInput } from '../../../../src/policy/reporting/next-policy-status.ts';
import { ignoredText } from '../../../../src/policy/reporting/policy-messages.ts';
import { conditionOf, MAX_PATCHED, MAX_VIOLATORS, waitingIn } from '../../../../src/policy/reporting/policy-status.ts';

const NOW = new Date('2026-06-01T12:00:00.123Z');
const LATER = new Date('2026-06-02T12:00:00.456Z');

const notRegistered = (message: string) =>
  ({ type: 'Ready', status: 'False', reason: 'NotRegistered', message }) as const;

const UNDECLARED = { type: 'Ready', status: 'True', reason: 'PoolLacksTaint', message: 'pool gpu' } as const;
const UNREACHABLE = { type: 'Ready', status: 'True', reason: 'ServiceNotReachable', message: 'no way' } as const;

const status = (input: Partial<StatusInput> = {}) =>
  nextPolicyStatus({
    kind: 'TaintPolicy',
    before: undefined,
    generation: 3,
    problems: [],
    inForce: { generation: 3 },
    reported: [],
    audit: false,
    findings: { matched: 5, violators: ['n2', 'n1'] },
    now: NOW,
    ...input,
  });

it('has the generation, the number of selected objects, and the violators', () => {
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
    matched: 5,
    violating: 2,
    violators: ['n2', 'n1'],
  });
});

it('conditionOf finds the condition of a type in a status, if there is one', () => {
  const invalid = status({ inForce: undefined, problems: [{ path: [], message: 'no spec' }] });
  expect(conditionOf(invalid, 'Ready')).toMatchObject({ type: 'Ready', reason: 'Invalid' });
  expect(conditionOf(invalid, 'Stalled')).toBeUndefined();
  expect([conditionOf(undefined, 'Ready'), conditionOf({}, 'Ready')]).toEqual([undefined, undefined]);
});

it.each([{ removalAllowed: 2, waiting: 3 }, { removalAllowed: 1 }, { waiting: 1 }])(
  'counts the nodes with an annotation and with a startup taint, if there are any: %j',
  (counts) => {
    const { removalAllowed, waiting } = status({ findings: { matched: 5, violators: [], ...counts } });
    expect({ removalAllowed, waiting }).toEqual({ removalAllowed: undefined, waiting: undefined, ...counts });
  },
);

it.each<{ why: string; status: unknown; waiting: number }>([
  { why: 'a policy that is new', status: undefined, waiting: 0 },
  { why: 'a policy without status', status: null, waiting: 0 },
  { why: 'no node', status: {}, waiting: 0 },
  { why: 'some nodes', status: { waiting: 3 }, waiting: 3 },
  { why: 'a number that no status has', status: { waiting: -1 }, waiting: 0 },
  { why: 'a fraction', status: { waiting: 1.5 }, waiting: 0 },
  { why: 'a text', status: { waiting: '3' }, waiting: 0 },
])('waitingIn reads how many nodes wait: $why', ({ status: read, waiting }) => {
  expect(waitingIn(read)).toBe(waiting);
});

it('has the mode of the policy if a generation is in force', () => {
  expect(status({ mode: 'Restore' })).toMatchObject({ mode: 'Restore' });
  expect(status()).not.toHaveProperty('mode');
});

it('counts nothing for a policy that cannot be used, and for a kind that selects no objects', () => {
  expect(status({ findings: undefined })).toMatchObject({ matched: 0, violating: 0, violators: [] });
  const restriction = status({ kind: 'TolerationRestriction', findings: undefined });
  expect(Object.keys(restriction)).toEqual(['observedGeneration', 'conditions']);
});

it('completes a status without conditions, which a user may have written', () => {
  expect(status({ before: {} })).toEqual(status());
});

it('contains the notes for the author', () => {
  const [ready] = status({ notes: ['"*" matches every taint', 'and so on'] }).conditions ?? [];
  expect(ready?.message).toBe('the policy is in force; "*" matches every taint; and so on');
});

it('does not change with time alone', () => {
  const before = status();
  expect(status({ before, now: LATER })).toEqual(before);
});

it('names a limited number of violators, and counts all', () => {
  const violators = Array.from({ length: 50 }, (_, index) => `n${index}`);
  const { violating, violators: named } = status({ findings: { matched: 100, violators } });
  expect(violating).toBe(50);
  expect(named).toEqual(violators.slice(0, MAX_VIOLATORS));
});

it('reports that a policy in force only reports because of --audit', () => {
  expect(status({ audit: true })).toMatchObject({
    audit: true,
    conditions: [{ status: 'True', message: 'the policy is in force, as Audit: taintkeeper runs with --audit' }],
  });
  expect(status()).not.toHaveProperty('audit');
});

it('has the conditions that controllers report, in the order of their table, and no others', () => {
  const stalled = { type: 'Stalled', status: 'True', reason: 'TaintConflict', message: 'a' } as const;
  const backstop = { type: 'Backstop', status: 'True', reason: 'InForce', message: 'b' } as const;
  expect(status({ reported: [backstop, stalled] }).conditions).toMatchObject([
    { type: 'Ready', status: 'True' },
    stalled,
    backstop,
  ]);
  expect(status().conditions).toHaveLength(1);
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
        message:
          'nothing of the policy is in force; generation 3 cannot be used: spec.taints[0].key: protects nothing; ' +
          'spec.existing: not supported',
      },
    },
    {
      why: 'False for a policy of which an earlier generation stays in force, and says which',
      input: {
        problems: [{ path: ['spec', 'mode'], message: 'expected Deny' }],
        inForce: { generation: 2 },
      },
      expected: {
        status: 'False',
        reason: 'EarlierInForce',
        message:
          'generation 2 stays in force until taintkeeper restarts; generation 3 cannot be used: spec.mode: expected Deny',
      },
    },
    {
      why: 'what a controller reports of a valid policy',
      input: { reported: [notRegistered('no answer')] },
      expected: { status: 'False', reason: 'NotRegistered', message: 'no answer' },
    },
    {
      why: 'True with all notes of controllers, and the reason of the most important one',
      input: { reported: [UNREACHABLE, UNDECLARED], notes: ['no node has the key'] },
      expected: {
        status: 'True',
        reason: 'PoolLacksTaint',
        message: 'the policy is in force; no way; pool gpu; no node has the key',
      },
    },
    {
      why: 'True with a reason of its own for each note',
      input: { reported: [UNREACHABLE] },
      expected: { status: 'True', reason: 'ServiceNotReachable', message: 'the policy is in force; no way' },
    },
    {
      why: 'True without what other conditions say',
      input: { reported: [{ type: 'Stalled', status: 'True', reason: 'TaintConflict', message: 'a' }] },
      expected: { status: 'True', reason: 'InForce', message: 'the policy is in force' },
    },
    {
      why: 'False without the notes on a policy that is in force',
      input: { reported: [UNREACHABLE, notRegistered('no answer')] },
      expected: { status: 'False', reason: 'NotRegistered', message: 'no answer' },
    },
    {
      why: 'Invalid for a policy that cannot be used, whatever a controller reports',
      input: {
        inForce: undefined,
        reported: [notRegistered('no answer')],
        problems: [{ path: ['spec', 'mode'], message: 'expected Deny' }],
      },
      expected: { status: 'False', reason: 'Invalid' },
    },
  ])('is $why', ({ input, expected }) => {
    expect(ready(input)).toMatchObject(expected);
  });

  it('keeps the time of its last transition while only its message changes, and moves it when it turns', () => {
    const before = status({ reported: [notRegistered('a')] });
    expect(ready({ before, reported: [notRegistered('b')], now: LATER })).toMatchObject({
      lastTransitionTime: '2026-06-01T12:00:00Z',
    });
    expect(ready({ before, now: LATER })).toMatchObject({
      status: 'True',
      lastTransitionTime: '2026-06-02T12:00:00Z',
    });
  });

  it('has a message of limited length for any number of problems', () => {
    const problems = Array.from({ length: 5_000 }, (_, index) => ({ path: ['spec', index], message: 'x'.repeat(300) }));
    expect(ready({ problems })?.message.length).toBeLessThan(32_768);
  });
});

it.each([
  {
    ignored: [['spec', 'taints', 0, 'later']],
    text: 'spec.taints[0].later: this version of taintkeeper does not know this field; it is ignored, so the policy may do more or less than intended',
  },
  {
    ignored: [
      ['spec', 'a'],
      ['spec', 'b'],
    ],
    text: 'spec.a, spec.b: this version of taintkeeper does not know these fields; they are ignored, so the policy may do more or less than intended',
  },
])('names the ignored fields: $text', ({ ignored, text }) => {
  expect(ignoredText(ignored)).toBe(text);
});

describe('Stalled', () => {
  const STALLED = { type: 'Stalled', status: 'True' } as const;
  const conflict = { ...STALLED, reason: 'TaintConflict', message: 'taint a is left alone' } as const;
  const paused = { ...STALLED, reason: 'TolerationMissing', message: 'DaemonSet b waits for its rollout' } as const;
  const stalled = (input: Partial<StatusInput>) => status(input).conditions?.find(({ type }) => type === 'Stalled');

  it('is present only while something is not done, and names it', () => {
    const before = status({ reported: [conflict] });
    expect(before.conditions).toMatchObject([
      { type: 'Ready', status: 'True' },
      {
        type: 'Stalled',
        status: 'True',
        reason: 'TaintConflict',
        message: 'taint a is left alone',
        observedGeneration: 3,
        lastTransitionTime: '2026-06-01T12:00:00Z',
      },
    ]);
    expect(stalled({ before, now: LATER })).toBeUndefined();
  });

  it('contains a message once if two rules report it', () => {
    expect(stalled({ reported: [conflict, paused, { ...conflict }] })?.message).toBe(
      'DaemonSet b waits for its rollout; taint a is left alone',
    );
  });

  it('has all reports in one message, the worst first, and the reason of that one', () => {
    expect(stalled({ reported: [conflict, paused] })).toMatchObject({
      reason: 'TolerationMissing',
      message: 'DaemonSet b waits for its rollout; taint a is left alone',
    });
  });

  it('keeps its time while it lasts, even if the reason changes, and has a new time when it returns', () => {
    const before = status({ reported: [conflict] });
    expect(stalled({ before, reported: [paused], now: LATER })).toMatchObject({
      lastTransitionTime: '2026-06-01T12:00:00Z',
    });
    expect(stalled({ before: status({ before }), reported: [conflict], now: LATER })).toMatchObject({
      lastTransitionTime: '2026-06-02T12:00:00Z',
    });
  });

  it('has a message of limited length for any number of reports', () => {
    const many = Array.from({ length: 1_000 }, (_, index) => ({ ...conflict, message: `${index}`.padEnd(1_000, 'x') }));
    const { message = '' } = stalled({ reported: many }) ?? {};
    expect(message).toMatch(/; and 985 more$/);
    expect(message.length).toBeLessThan(32_768);
  });

  it('has a part of each message even if one quotes a long annotation', () => {
    const quoting = { ...conflict, message: `MachineDeployment a/b: ${'dedicated=gpu:NoSchedule,'.repeat(3_000)}` };
    const { message = '' } = stalled({ reported: [quoting, paused] }) ?? {};
    expect(message).toMatch(
      /^DaemonSet b waits for its rollout; MachineDeployment a\/b: dedicated=gpu:NoSchedule,.*\.\.\.$/,
    );
    expect(message.length).toBeLessThan(32_768);
  });

  it('has a part of each message also if the worst one is long', () => {
    const quoting = { ...paused, message: `DaemonSet a/b: ${'dedicated=gpu:NoSchedule,'.repeat(3_000)}` };
    const { message = '' } = stalled({ reported: [quoting, conflict] }) ?? {};
    expect(message).toMatch(/^DaemonSet a\/b: dedicated=gpu:NoSchedule,.*\.\.\.; taint a is left alone$/);
  });
});

describe('the patched DaemonSets', () => {
  const daemonSet = (index: number, tolerations = ['master:NoSchedule']) => ({
    ...{ namespace: 'kube-system', name: `d${index}`, uid: `uid-${index}`, tolerations },
  });
  const texts = (count: number, text = 'example.com/key-') => Array.from({ length: count }, (_, index) => text + index);

  it.each([
    { what: 'as many as one policy can ask for', tolerations: texts(100), kept: texts(100).slice(36) },
    { what: 'none that is cut', tolerations: [...texts(1), 'x'.repeat(513)], kept: texts(1) },
  ])('have $what of their tolerations', ({ tolerations, kept }) => {
    expect(status({ patched: [daemonSet(1, tolerations)] }).patched).toEqual([daemonSet(1, kept)]);
  });

  it.each([
    { what: 'a namespace', field: 'namespace', limit: 63 },
    { what: 'a name', field: 'name', limit: 253 },
    { what: 'a uid', field: 'uid', limit: 128 },
    { what: 'an installation', field: 'installation', limit: 128 },
  ])('are left out with $what of more than $limit characters', ({ field, limit }) => {
    const [longest, longer] = [limit, limit + 1].map((length) => ({ ...daemonSet(1), [field]: 'x'.repeat(length) }));
    expect(status({ patched: [longest, longer].flatMap((one) => one ?? []) }).patched).toEqual([longest]);
  });

  it('are left out if no toleration fits, and absent if none is left', () => {
    const longest = daemonSet(1, ['x'.repeat(512)]);
    expect(status({ patched: [longest, daemonSet(2, ['x'.repeat(513)])] }).patched).toEqual([longest]);
    expect(status({ patched: [daemonSet(2, [])] })).not.toHaveProperty('patched');
    expect(status()).not.toHaveProperty('patched');
  });

  it('are the last ones that fit, each unabridged', () => {
    const usual = Array.from({ length: MAX_PATCHED + 1 }, (_, index) => daemonSet(index));
    expect(status({ patched: usual }).patched).toEqual(usual.slice(1));
    const large = usual.map(({ name }, index) => ({ ...daemonSet(index, texts(64)), name }));
    const kept = status({ patched: large }).patched ?? [];
    expect(kept.length).toBeGreaterThan(50);
    expect(large.slice(-kept.length)).toEqual(kept);
    expect(JSON.stringify(kept).length).toBeLessThan(140_000);
  });

  it('are as many as fit, to the last character', () => {
    const ofSize = (size: number, index: number) => {
      const fixed = JSON.stringify(daemonSet(index, ['x'.repeat(500), ''])).length;
      return daemonSet(index, ['x'.repeat(500), 'x'.repeat(size - fixed)]);
    };
    const last = Array.from({ length: 127 }, (_, index) => ofSize(1_024, index));
    expect(status({ patched: [ofSize(1_024, 127), ...last] }).patched).toHaveLength(128);
    expect(status({ patched: [ofSize(1_025, 127), ...last] }).patched).toEqual(last);
  });
});
