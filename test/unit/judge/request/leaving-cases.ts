import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { KUBELET, other } from './node-updates.ts';
import type { CaseUpdate } from './update-cases.ts';

/**
 * An update of the labels of a node that waits with startup taints, and the taints that no policy has there any more, whoever decides: src/judge, or the
 * match conditions of the webhooks. Each of them has a test that runs this table.
 */
interface LeavingCase {
  readonly why: string;
  readonly policies: Readonly<Record<string, TaintPolicySpec>>;
  readonly update: CaseUpdate;
  readonly ended: readonly string[];
}

const READY = { daemonSets: [{ namespace: 'a', name: 'b' }] };
const waiting = { key: 'example.com/network', value: 'x', effect: 'NoSchedule' } as const;
const otherValue = { ...waiting, value: 'y' } as const;
const withoutValue = { ...waiting, value: undefined } as const;
const gpus = { ...waiting, key: 'example.com/gpu' } as const;
const NETWORK = ['example.com/network=x:NoSchedule'];
const GPUS = ['example.com/gpu=x:NoSchedule'];

const until = (more: object = {}): TaintRule => ({ ...waiting, ensure: 'UntilReady', readyWhen: READY, ...more });
const untilGpus = until({ key: gpus.key });
const atRegistration = (more: object = {}): TaintRule => ({ ...waiting, ensure: 'AtRegistration', ...more });
const pool = (taints: readonly TaintRule[], more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
  mode: 'Restore',
  nodeSelector: { matchLabels: { pool: 'gpu' } },
  taints: [...taints],
  ...more,
});
const network = (more: Partial<TaintPolicySpec> = {}) => pool([until()], more);
const everywhere = { nodeSelector: {} };
const inCpuPool = { nodeSelector: { matchLabels: { pool: 'cpu' } } };

const LEAVES: CaseUpdate = { before: [waiting], after: [waiting], oldLabels: { pool: 'gpu' }, newLabels: {} };

const both = [waiting, gpus];

interface Row {
  readonly why: string;
  readonly policies?: Readonly<Record<string, TaintPolicySpec>>;
  readonly update?: Partial<CaseUpdate>;
  readonly ended: readonly string[];
}

const ROWS: readonly Row[] = [
  { why: 'a label goes', ended: NETWORK },
  {
    why: 'a label changes, with a taint',
    update: { newLabels: { pool: 'cpu' }, after: [waiting, other] },
    ended: NETWORK,
  },
  {
    why: 'the rule names no value',
    policies: { p: pool([until({ value: undefined })]) },
    ended: NETWORK,
  },
  {
    why: 'another policy has nothing to do with the taint',
    policies: { p: network(), q: pool([{ key: 'dedicated' }], { ...everywhere, mode: 'Deny' }) },
    ended: NETWORK,
  },
  {
    why: 'another policy with the taint only reports',
    policies: { p: network(), q: network({ mode: 'Audit', ...everywhere }) },
    ended: NETWORK,
  },
  {
    why: 'another policy sets another value',
    policies: { p: network(), q: pool([until({ value: 'y' })], everywhere) },
    ended: NETWORK,
  },
  {
    why: 'another policy protects another value',
    policies: { p: network(), q: pool([{ key: waiting.key, value: 'y' }], everywhere) },
    ended: NETWORK,
  },
  {
    why: 'another policy has the taint on the node',
    policies: { p: network(), q: network(everywhere) },
    ended: [],
  },
  {
    why: 'another policy sets the taint at registration, which another client removes',
    policies: { p: network(), q: pool([atRegistration()], everywhere) },
    ended: [],
  },
  {
    why: 'another policy sets any value of the taint at registration',
    policies: {
      p: network(),
      q: pool([atRegistration({ value: undefined })], everywhere),
    },
    ended: [],
  },
  {
    why: 'another policy sets another value at registration',
    policies: {
      p: network(),
      q: pool([atRegistration({ value: 'y' })], everywhere),
    },
    ended: NETWORK,
  },
  {
    why: 'another policy sets a value at registration, and the startup taint has none',
    policies: { p: pool([until({ value: undefined })]), q: pool([atRegistration()], everywhere) },
    update: { before: [withoutValue], after: [withoutValue] },
    ended: ['example.com/network:NoSchedule'],
  },
  {
    why: 'another policy sets it at registration on other nodes',
    policies: { p: network(), q: pool([atRegistration()], inCpuPool) },
    ended: NETWORK,
  },
  {
    why: 'another policy would set it at registration, and only reports',
    policies: { p: network(), q: pool([atRegistration()], { ...everywhere, mode: 'Audit' }) },
    ended: NETWORK,
  },
  {
    why: 'a policy that set it at registration ends with the label, too',
    policies: { p: network(), q: pool([atRegistration()]) },
    ended: NETWORK,
  },
  {
    why: 'another policy protects the taint',
    policies: { p: network(), q: pool([{ key: waiting.key }], everywhere) },
    ended: [],
  },
  {
    why: 'another policy protected the taint',
    policies: { p: network(), q: pool([{ key: waiting.key }]) },
    ended: [],
  },
  { why: 'the policy only reports', policies: { p: network({ mode: 'Audit' }) }, ended: [] },
  {
    why: 'the policy selects the node by another label',
    update: { oldLabels: { pool: 'gpu', a: '' }, newLabels: { pool: 'gpu' } },
    ended: [],
  },
  {
    why: 'the policy begins to select the node',
    update: { oldLabels: {}, newLabels: { pool: 'gpu' } },
    ended: [],
  },
  { why: 'the labels stay', update: { newLabels: { pool: 'gpu' }, after: [waiting, other] }, ended: [] },
  { why: 'the node does not wait any more', update: { before: [other], after: [other] }, ended: [] },
  {
    why: 'the node carries another value',
    update: { before: [otherValue], after: [otherValue] },
    ended: [],
  },
  { why: 'the same request removes the taint', update: { after: [] }, ended: [] },
  { why: 'the same request sets the taint', update: { before: [] }, ended: [] },
  { why: 'the requester is the node, which shows no warnings', update: { requester: KUBELET }, ended: [] },
  {
    why: 'the node waits with several taints, and the request changes their order',
    policies: { p: pool([until(), untilGpus]) },
    update: { before: both, after: both.toReversed() },
    ended: [...NETWORK, ...GPUS],
  },
  {
    why: 'several policies select the same nodes',
    policies: { p: pool([untilGpus]), q: network() },
    ended: NETWORK,
  },
  {
    why: 'a policy of another pool has the taint, too',
    policies: { p: network(inCpuPool), q: network() },
    ended: NETWORK,
  },
  {
    why: 'the node leaves one pool for another, whose policy has the taint',
    policies: { p: network(inCpuPool), q: network() },
    update: { newLabels: { pool: 'cpu' } },
    ended: [],
  },
  {
    why: 'a label changes, and the policy with the taint selects all nodes',
    policies: { p: network(everywhere), q: pool([{ key: 'dedicated' }]) },
    ended: [],
  },
  {
    why: 'another policy sets this taint and another one at registration',
    policies: { p: network(), q: pool([atRegistration(), atRegistration({ key: gpus.key })], everywhere) },
    ended: [],
  },
  {
    why: 'another policy has one of two taints',
    policies: { p: pool([until(), untilGpus]), q: network(everywhere) },
    update: { before: both, after: both },
    ended: GPUS,
  },
  {
    why: 'another policy protects one of two taints, and a third one',
    policies: { p: pool([until(), untilGpus]), q: pool([{ key: 'dedicated' }, { key: waiting.key }], everywhere) },
    update: { before: both, after: both },
    ended: GPUS,
  },
  {
    why: 'another policy protects the taint with another effect',
    policies: { p: network(), q: pool([{ key: waiting.key, effect: 'NoExecute' }], everywhere) },
    ended: NETWORK,
  },
  {
    why: 'another policy protects the taint in another pool',
    policies: { p: network(), q: pool([{ key: waiting.key }], inCpuPool) },
    ended: NETWORK,
  },
  {
    why: 'another policy protects the domain of the taint',
    policies: { p: network(), q: pool([{ key: 'example.com/*' }], everywhere) },
    ended: NETWORK,
  },
  {
    why: 'another policy protects the taint, and exempts the requester',
    policies: { p: network(), q: pool([{ key: waiting.key }], { ...everywhere, exempt: { users: ['*'] } }) },
    ended: [],
  },
  {
    why: 'another policy that protects the taint only reports',
    policies: { p: network(), q: pool([{ key: waiting.key }], { ...everywhere, mode: 'Audit' }) },
    ended: NETWORK,
  },
  {
    why: 'the policy protects the taint, too',
    policies: { p: pool([until(), { key: waiting.key }]) },
    ended: [],
  },
];

export const LEAVING_CASES: readonly LeavingCase[] = ROWS.map(({ why, policies, update, ended }) => ({
  why,
  policies: policies ?? { p: network() },
  update: { ...LEAVES, ...update },
  ended,
}));
