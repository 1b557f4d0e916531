import { describe, expect, it } from 'vitest';
import { checkPolicies } from '../../../src/doctor/checks/policies.ts';
import { readingOf } from '../../../src/doctor/facts/reading.ts';
import type { PolicyStatus } from '../../../src/policy/reporting/policy-status.ts';
import { healthyFacts, node, policyObject, READY, taintPolicy, unseen } from './facts.ts';

const [CONDITION] = READY.conditions ?? [];
if (!CONDITION) throw new Error('no condition');
const withStatus = (difference: Partial<PolicyStatus>) =>
  taintPolicy('gpu', {}, { status: { ...READY, ...difference } });
const stalled = { ...CONDITION, type: 'Stalled', reason: 'RepairsRefused', message: 'node n1: forbidden' };

const conditionsWith = (one: { readonly type: string; readonly reason: string; readonly message: string }) =>
  [CONDITION, { ...CONDITION, ...one }].filter(({ reason }) => one.type !== 'Ready' || reason === one.reason);
const ignored = { ...CONDITION, type: 'Stalled', reason: 'UnknownFields', message: 'spec.future: this version' };

it.each([
  { what: 'in force', policies: [taintPolicy('gpu', {})], expected: ['ok', /1 in force: TaintPolicy gpu/] },
  { what: 'none', policies: [], expected: ['note', /no policies: nothing is protected/] },
  {
    what: 'not valid, as everybody can see without a leader',
    policies: [taintPolicy('gpu', { taints: [{ key: 'a/b/c' }] })],
    expected: ['problem', /TaintPolicy gpu is not valid: generation 1 cannot be used: spec\.taints\[0\]\.key/],
  },
  {
    what: 'not valid any more, as the leader says that has seen it before',
    policies: [
      taintPolicy(
        'gpu',
        { mode: 'Warn' },
        {
          generation: 2,
          status: {
            conditions: [
              {
                ...CONDITION,
                status: 'False',
                reason: 'EarlierInForce',
                observedGeneration: 2,
                message:
                  'generation 1 stays in force until taintkeeper restarts; generation 2 cannot be used: spec.mode: b',
              },
            ],
          },
        },
      ),
    ],
    expected: [
      'problem',
      /TaintPolicy gpu is not valid: generation 1 stays in force until taintkeeper restarts; .*: spec\.mode: b$/,
      /^kubectl edit taintpolicy gpu$/,
    ],
  },
  {
    what: 'not valid, while the status is about the generation before',
    policies: [taintPolicy('gpu', { mode: 'Warn' }, { generation: 2, status: READY })],
    expected: ['problem', /TaintPolicy gpu is not valid: generation 2 cannot be used: spec\.mode/],
  },
  {
    what: 'in force without a field that is not known',
    policies: [withStatus({ conditions: [CONDITION, ignored] })],
    expected: ['problem', /TaintPolicy gpu is in force, in part \(UnknownFields\): spec\.future: this version/],
  },
  {
    what: 'without a status',
    policies: [taintPolicy('gpu', {}, { status: {} })],
    expected: ['problem', /TaintPolicy gpu has no status/],
  },
  {
    what: 'with a status for an earlier generation',
    policies: [taintPolicy('gpu', {}, { generation: 3 })],
    expected: ['problem', /a status for generation 1, and is at generation 3/],
  },
  {
    what: 'not registered',
    policies: [
      withStatus({ conditions: [{ ...CONDITION, status: 'False', reason: 'NotRegistered', message: 'no answer' }] }),
    ],
    expected: ['problem', /not in force \(NotRegistered\): no answer/],
  },
  {
    what: 'stalled',
    policies: [withStatus({ conditions: [CONDITION, stalled] })],
    expected: ['problem', /stalled \(RepairsRefused\): node n1: forbidden/],
  },
  {
    what: 'stalled for a reason of the table, which says what to do',
    policies: [
      withStatus({
        conditions: [CONDITION, { ...CONDITION, type: 'Stalled', status: 'True', reason: 'TaintConflict' }],
      }),
    ],
    expected: ['problem', /stalled \(TaintConflict\)/, /^stop the writer that the message names/],
  },
  {
    what: 'with a condition that another check or Stalled reports',
    policies: [
      withStatus({
        conditions: [
          { ...CONDITION, reason: 'PoolLacksTaint' },
          { ...CONDITION, type: 'Stalled', reason: 'RequiredValuesDiffer' },
          { ...CONDITION, type: 'Backstop', status: 'False', reason: 'Unsupported' },
        ],
      }),
    ],
    expected: ['ok', /1 in force/],
  },
  {
    what: 'violated, which is what it is there to find',
    policies: [withStatus({ violating: 2, violators: ['n1', 'n2'] })],
    expected: ['note', /2 objects differ from it: n1, n2/],
  },
  {
    what: 'held to Audit',
    policies: [withStatus({ audit: true })],
    expected: ['note', /--audit/],
  },
  {
    what: 'registered without a call over the Service',
    policies: [
      withStatus({
        conditions: [{ ...CONDITION, reason: 'ServiceNotReachable', message: 'no way' }],
      }),
    ],
    expected: ['note', /^no way$/],
  },
] as const)('$what', ({ policies, expected: [state, evidence, remedy] }) => {
  const results = checkPolicies(healthyFacts({ policies: readingOf(policies) }));
  const more = remedy ? { remedy: expect.stringMatching(remedy) } : {};
  expect(results).toEqual([expect.objectContaining({ state, evidence: expect.stringMatching(evidence), ...more })]);
});

it.each([
  {
    kind: 'TaintPolicy',
    spec: { mode: 'Deny', taints: [{ key: 'a' }] },
    one: 'n1',
    explained: 'node n1',
  },
  {
    kind: 'TolerationPolicy',
    spec: { mode: 'Mutate', daemonSets: { namespaces: ['ns'] } },
    one: 'ns/agent',
    explained: 'daemonset ns/agent',
  },
  {
    kind: 'RecoveryPolicy',
    spec: { mode: 'Recover', daemonSets: { namespaces: ['ns'] } },
    one: 'ns/agent-1',
    explained: 'pod ns/agent-1',
  },
  // Every user who may write the status can set any text.
  {
    kind: 'RecoveryPolicy',
    spec: { mode: 'Recover', daemonSets: { namespaces: ['ns'] } },
    one: 'ns/agent; reboot',
    explained: "pod 'ns/agent; reboot'",
  },
] as const)('what differs from a $kind can be explained', ({ kind, spec, one, explained }) => {
  const policies = readingOf([policyObject(kind, 'p', spec, { status: { ...READY, violating: 1, violators: [one] } })]);
  expect(checkPolicies(healthyFacts({ policies }))).toMatchObject([
    { state: 'note', remedy: `taintkeeper explain ${explained}` },
  ]);
});

it('a condition that another check reports is a note if that check cannot read what it needs', () => {
  const condition = { ...CONDITION, reason: 'PoolLacksTaint', message: 'pool gpu' };
  const policies = readingOf([withStatus({ conditions: [condition] })]);
  expect(checkPolicies(healthyFacts({ policies, nodePools: unseen('403 Forbidden', 403) }))).toMatchObject([
    {
      state: 'note',
      evidence: 'TaintPolicy gpu is in force, not declared (PoolLacksTaint): pool gpu',
      remedy: 'declare the taint in the template, as the message says',
    },
  ]);
});

it('of the entries of the annotation allow-removal, there is something to know', () => {
  const nodes = readingOf([node('n0'), { ...node('n1'), allowRemoval: 'gpu:NoSchedule, rubbish' }]);
  expect(checkPolicies(healthyFacts({ policies: readingOf([taintPolicy('p', {})]), nodes }))).toEqual([
    {
      state: 'note',
      evidence:
        'annotation taintkeeper.dev/allow-removal of 1 node allows the removal of taints, which are not set again: n1 (gpu:NoSchedule, rubbish)',
      remedy: 'kubectl annotate node n1 taintkeeper.dev/allow-removal-',
    },
  ]);
});

describe('a condition that another check reports in more detail is reported here if that check cannot see as much', () => {
  const why = unseen('you may not list them');
  it.each([
    { condition: { type: 'Stalled', reason: 'RequiredValuesDiffer' }, unread: 'nodes', state: 'problem' },
    { condition: { type: 'Ready', reason: 'PoolLacksTaint' }, unread: 'nodes', state: 'note' },
    { condition: { type: 'Ready', reason: 'PoolLacksTaint' }, unread: 'nodePools', state: 'note' },
  ])('$condition.reason, without $unread', ({ condition, unread, state }) => {
    const policies = readingOf([withStatus({ conditions: conditionsWith({ ...condition, message: 'm' }) })]);
    expect(checkPolicies(healthyFacts({ policies, [unread]: why }))).toMatchObject([
      { state, evidence: expect.stringMatching(`\\(${condition.reason}\\): m$`) },
    ]);
  });
});

it('names the command that installs the definitions', () => {
  const [result] = checkPolicies(healthyFacts({ policies: unseen('404 NotFound', 404) }));
  expect(result).toMatchObject({ state: 'problem', remedy: 'kubectl apply -f install.yaml' });
});

it('names a definition that is missing, beside the policies of the other kinds', () => {
  const results = checkPolicies(healthyFacts({ kindsWithoutDefinition: readingOf(['RecoveryPolicy']) }));
  expect(results).toMatchObject([
    {
      state: 'problem',
      evidence:
        'CustomResourceDefinition recoverypolicies.taintkeeper.dev does not exist: no RecoveryPolicy is in force',
      remedy: 'kubectl apply -f install.yaml',
    },
  ]);
});
