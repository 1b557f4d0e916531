import { isKubelet } from '../../../../src/judge/request/node-request.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { cpu, gpu, KUBELET, other, type Update } from './node-updates.ts';

/**
 * An update of a Node and what it must lead to, whoever decides: src/judge, the webhooks by their match conditions, or native policies. Each of them has
 * a test that runs this table.
 */
export interface UpdateCase {
  readonly why: string;
  readonly policies: Readonly<Record<string, TaintPolicySpec>>;
  readonly update: CaseUpdate;
  /** The taints that the node carries in the end. Undefined: the update is refused. */
  readonly taints: readonly string[] | undefined;
  /** The annotation in the end. */
  readonly allowRemoval?: string;
  /** Nothing is changed or reported: no webhook is called. */
  readonly isSilent?: true;
}

/** An update of node n1, with the labels that tests compare. */
export interface CaseUpdate extends Update {
  readonly oldLabels?: Readonly<Record<string, string>>;
  readonly newLabels?: Readonly<Record<string, string>>;
}

const GPU = 'dedicated=gpu:NoSchedule';
const CPU = 'dedicated=cpu:NoSchedule';
const OTHER = 'other:NoSchedule';
/** No other entry fits beside it. */
const LONG_ENTRY = `${'a'.repeat(32_749)}:NoSchedule`;
const NO_VALUE = { key: gpu.key, effect: gpu.effect };
const EVICTING = { ...gpu, effect: 'NoExecute' } as const;
const ALWAYS: TaintRule = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' };
const EVICTS: TaintRule = { ...ALWAYS, effect: 'NoExecute' };
const ANY: TaintRule = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' };
const READY = { daemonSets: [{ namespace: 'a', name: 'b' }] };
const AUTOSCALER = { username: 'autoscaler', groups: [] };
const POOL = { nodeSelector: { matchLabels: { pool: 'gpu' } } };
const GPU_POOL = { pool: 'gpu' };

const policy = (more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
  mode: 'Restore',
  taints: [{ key: 'dedicated' }, { key: 'other' }],
  ...more,
});
const requiring = (more: Partial<TaintPolicySpec> = {}) => policy({ taints: [ALWAYS], ...more });
const exempting = (more: Partial<TaintPolicySpec> = {}) =>
  requiring({ exempt: { users: [AUTOSCALER.username] }, ...more });

const REMOVES: CaseUpdate = { before: [gpu], after: [] };
const JOINS: CaseUpdate = { before: [other], after: [other], oldLabels: {}, newLabels: GPU_POOL };

interface Row {
  readonly why: string;
  readonly policies?: Readonly<Record<string, TaintPolicySpec>>;
  readonly update?: Partial<CaseUpdate>;
  readonly taints?: readonly string[] | undefined;
  readonly allowRemoval?: string;
  readonly isSilent?: true;
}

function rows(
  what: string,
  usual: Pick<UpdateCase, 'policies' | 'update' | 'taints'> & Pick<Partial<UpdateCase>, 'allowRemoval'>,
  all: readonly Row[],
): UpdateCase[] {
  return all.map(({ why, update, ...row }) => ({
    ...usual,
    ...row,
    why: `${what}: ${why}`,
    update: { ...usual.update, ...update },
  }));
}

/** Entries of the annotation that do not let a taint be removed. */
const MEANINGLESS: readonly (Row & { readonly update: Partial<CaseUpdate> })[] = [
  { why: 'written in the same request', update: { newAllowRemoval: GPU }, allowRemoval: GPU },
  { why: 'for another taint', update: { oldAllowRemoval: OTHER } },
  { why: 'for another value', update: { oldAllowRemoval: CPU } },
  { why: 'for the taint without a value', update: { oldAllowRemoval: 'dedicated:NoSchedule' } },
  { why: 'a notice, as earlier versions wrote it', update: { oldAllowRemoval: `${GPU}-` } },
  { why: 'malformed', update: { oldAllowRemoval: 'dedicated=gpu' } },
];

export const UPDATE_CASES: readonly UpdateCase[] = [
  ...rows(
    'an entry does not count in mode Deny',
    { policies: { p: policy({ mode: 'Deny' }) }, update: REMOVES, taints: undefined },
    MEANINGLESS.map(({ allowRemoval: _, ...row }) => row),
  ),
  ...rows(
    'an entry does not count in mode Restore',
    { policies: { p: policy() }, update: REMOVES, taints: [GPU] },
    MEANINGLESS,
  ),
  ...rows(
    'an entry that the request deletes lets the taint be removed',
    { policies: { p: policy() }, update: { ...REMOVES, oldAllowRemoval: GPU }, taints: [] },
    [{ why: 'in mode Restore' }, { why: 'in mode Deny', policies: { p: policy({ mode: 'Deny' }) } }],
  ),
  ...rows(
    'an entry lets the taint be removed',
    {
      policies: { p: policy() },
      update: { ...REMOVES, oldAllowRemoval: GPU, newAllowRemoval: GPU },
      taints: [],
      allowRemoval: GPU,
    },
    [
      { why: 'in mode Restore' },
      { why: 'in mode Deny', policies: { p: policy({ mode: 'Deny' }) } },
      { why: 'of a required taint', policies: { p: requiring() } },
      { why: 'with another value', update: { after: [cpu] }, taints: [CPU] },
      {
        why: 'not against removalByAnnotation: Forbidden',
        policies: { p: policy({ mode: 'Deny', removalByAnnotation: 'Forbidden' }) },
        taints: undefined,
      },
      {
        why: 'not against another policy with Forbidden',
        policies: { p: policy(), q: policy({ removalByAnnotation: 'Forbidden' }) },
        taints: [GPU],
      },
      { why: 'not other taints', update: { before: [gpu, other] }, taints: [OTHER] },
    ],
  ),
  ...rows('an entry ends', { policies: { p: policy() }, update: { before: [], after: [gpu] }, taints: [GPU] }, [
    {
      why: 'when a request sets the taint',
      update: { oldAllowRemoval: `${GPU}, a:NoExecute`, newAllowRemoval: `${GPU}, a:NoExecute` },
      allowRemoval: 'a:NoExecute',
    },
    {
      why: 'of a required taint',
      policies: { p: requiring() },
      update: { oldAllowRemoval: GPU, newAllowRemoval: GPU },
    },
    { why: 'also one that the same request writes', update: { newAllowRemoval: GPU } },
    { why: 'not for another value', update: { oldAllowRemoval: CPU, newAllowRemoval: CPU }, allowRemoval: CPU },
    {
      why: 'not for a taint that no policy protects',
      update: { after: [{ ...other, key: 'x' }], newAllowRemoval: 'x:NoSchedule' },
      taints: ['x:NoSchedule'],
      allowRemoval: 'x:NoSchedule',
    },
    {
      why: 'not while the node carries the taint',
      update: { before: [gpu], after: [gpu, other], newAllowRemoval: GPU },
      taints: [GPU, OTHER],
      allowRemoval: GPU,
    },
    {
      why: 'not where every policy only audits',
      policies: { p: policy({ mode: 'Audit' }) },
      update: { newAllowRemoval: GPU },
      allowRemoval: GPU,
    },
    {
      why: "not in a node's own update, which is never patched",
      update: { newAllowRemoval: GPU, requester: KUBELET },
      allowRemoval: GPU,
    },
  ]),
  ...rows(
    "an exempt user's removal",
    { policies: { p: exempting() }, update: { ...REMOVES, requester: AUTOSCALER }, taints: [] },
    [
      { why: 'of a required taint writes its entry', allowRemoval: GPU },
      { why: 'in mode Deny as well', policies: { p: exempting({ mode: 'Deny' }) }, allowRemoval: GPU },
      {
        why: 'of a taint that is required with any value writes the value that it had',
        policies: { p: exempting({ taints: [ANY] }) },
        update: { before: [cpu] },
        allowRemoval: CPU,
      },
      {
        why: 'beside entries that are there',
        update: { newAllowRemoval: 'a:NoExecute' },
        allowRemoval: `a:NoExecute,${GPU}`,
      },
      {
        why: 'beside one for another value',
        update: { oldAllowRemoval: CPU, newAllowRemoval: CPU },
        allowRemoval: `${CPU},${GPU}`,
      },
      {
        why: 'writes none beside an entry that leaves no room: neither could be read',
        update: { oldAllowRemoval: LONG_ENTRY, newAllowRemoval: LONG_ENTRY },
        allowRemoval: LONG_ENTRY,
      },
      { why: 'writes an entry of the same request once', update: { newAllowRemoval: GPU }, allowRemoval: GPU },
      {
        why: 'that changes the required value keeps the leader from changing it back',
        update: { after: [cpu] },
        taints: [CPU],
        allowRemoval: GPU,
      },
      {
        why: 'that changes a value which does not matter writes none: nothing is missing',
        policies: { p: exempting({ taints: [ANY] }) },
        update: { after: [cpu] },
        taints: [CPU],
      },
      {
        why: 'of a protected taint writes none: the leader does not set it',
        policies: { p: exempting({ taints: [{ key: 'dedicated' }] }) },
      },
      {
        why: 'of a taint that another policy protects writes the entry',
        policies: { p: exempting(), q: exempting({ taints: [{ key: 'dedicated' }] }) },
        allowRemoval: GPU,
      },
      {
        why: 'of one of several required taints writes the entry of that one',
        policies: { p: exempting({ taints: [{ ...ALWAYS, key: 'a' }, ALWAYS] }) },
        update: { before: [{ ...gpu, key: 'a' }, gpu], after: [{ ...gpu, key: 'a' }] },
        taints: ['a=gpu:NoSchedule'],
        allowRemoval: GPU,
      },
      {
        why: 'of a taint that only a policy in mode Audit requires writes none',
        policies: { p: exempting({ taints: [{ key: 'dedicated' }] }), q: exempting({ mode: 'Audit' }) },
      },
      {
        why: 'that another policy restores writes none',
        policies: { p: exempting(), q: policy({ taints: [{ key: 'dedicated' }] }) },
        taints: [GPU],
      },
      { why: 'writes none in mode Audit', policies: { p: exempting({ mode: 'Audit' }) } },
      {
        why: 'writes none where the node leaves the policy: it requires nothing there any more',
        policies: { p: exempting(POOL) },
        update: { oldLabels: GPU_POOL, newLabels: {} },
      },
      {
        why: 'writes none where a changed label puts the node under the policy: it sets the taint in the same request',
        policies: { p: exempting(POOL) },
        update: { oldLabels: {}, newLabels: GPU_POOL },
        taints: [GPU],
      },
      {
        why: 'writes none where a changed label puts the node under another policy that requires it',
        policies: { p: exempting(), q: exempting(POOL) },
        update: { oldLabels: {}, newLabels: GPU_POOL },
        taints: [GPU],
      },
      {
        why: 'writes none where it puts the node under another policy that requires this taint and others',
        policies: {
          p: exempting({ taints: [EVICTS] }),
          q: exempting({ ...POOL, taints: [{ ...ALWAYS, key: 'a' }, EVICTS] }),
        },
        update: { before: [EVICTING], oldLabels: {}, newLabels: GPU_POOL },
        taints: ['a=gpu:NoSchedule'],
      },
      {
        why: 'writes none there for an evicting taint either, which only registration sets',
        policies: { p: exempting({ ...POOL, taints: [EVICTS] }) },
        update: { before: [EVICTING], oldLabels: {}, newLabels: GPU_POOL },
      },
      {
        why: 'writes its entry where a changed label puts the node under a policy that only reports',
        policies: { p: exempting(), q: exempting({ ...POOL, mode: 'Audit' }) },
        update: { oldLabels: {}, newLabels: GPU_POOL },
        allowRemoval: GPU,
      },
      {
        why: 'writes its entry where a changed label puts the node under a policy that requires another taint',
        policies: { p: exempting(), q: exempting({ ...POOL, taints: [{ ...ALWAYS, key: 'a' }] }) },
        update: { oldLabels: {}, newLabels: GPU_POOL },
        taints: ['a=gpu:NoSchedule'],
        allowRemoval: GPU,
      },
      {
        why: 'is refused for another taint',
        policies: { p: exempting(), q: policy({ mode: 'Deny', taints: [{ key: 'other' }] }) },
        update: { before: [gpu, other] },
        taints: undefined,
      },
    ],
  ),
  ...rows(
    'a node that a label change puts under a policy gets its required taint',
    { policies: { p: requiring(POOL) }, update: JOINS, taints: [OTHER] },
    [
      { why: 'in mode Restore', taints: [OTHER, GPU] },
      { why: 'in mode Deny', policies: { p: requiring({ ...POOL, mode: 'Deny' }) }, taints: [OTHER, GPU] },
      {
        why: 'also in place of a value that no policy protects',
        update: { before: [cpu], after: [cpu] },
        taints: [GPU],
      },
      {
        why: 'also in place of a value that only this policy protects',
        policies: { p: requiring({ ...POOL, taints: [ALWAYS, { key: 'dedicated' }] }) },
        update: { before: [cpu], after: [cpu] },
        taints: [GPU],
      },
      {
        why: 'also where another policy protects its key: no value is replaced',
        policies: { p: requiring(POOL), q: policy({ mode: 'Deny', taints: [{ key: 'dedicated' }] }) },
        taints: [OTHER, GPU],
      },
      {
        why: 'beside a taint that is restored',
        policies: { p: requiring(POOL), q: policy({ taints: [{ key: 'other' }] }) },
        update: { after: [] },
        taints: [OTHER, GPU],
      },
      {
        why: 'together with all others that it lacks',
        policies: { p: requiring({ ...POOL, taints: [ALWAYS, { ...ALWAYS, key: 'a' }] }) },
        taints: [OTHER, GPU, 'a=gpu:NoSchedule'],
      },
      {
        why: 'without a value, if the policy names none',
        policies: { p: requiring({ ...POOL, taints: [ANY] }) },
        taints: [OTHER, 'dedicated:NoSchedule'],
      },
      {
        why: 'once, where the change puts the node under two policies that require it',
        policies: { p: requiring(POOL), q: requiring({ ...POOL, mode: 'Deny' }) },
        taints: [OTHER, GPU],
      },
      {
        why: 'also against an entry of the same request',
        update: { newAllowRemoval: GPU },
        taints: [OTHER, GPU],
        allowRemoval: GPU,
      },
      {
        why: 'not in an update by the node itself: NodeRestriction would refuse the whole request',
        update: { requester: KUBELET },
      },
      { why: 'not where the policy only reports', policies: { p: requiring({ ...POOL, mode: 'Audit' }) } },
      {
        why: 'not where the policy selected the node before',
        update: { oldLabels: GPU_POOL, newLabels: { ...GPU_POOL, a: '' } },
      },
      { why: 'not where the labels do not change', update: { newLabels: {} } },
      {
        why: 'not where it would evict pods',
        policies: { p: requiring({ ...POOL, taints: [EVICTS] }) },
      },
      {
        why: 'not where it is for registration only',
        policies: { p: requiring({ ...POOL, taints: [{ ...ALWAYS, ensure: 'AtRegistration' }] }) },
      },
      {
        why: 'not where it waits for a new node',
        policies: { p: requiring({ ...POOL, taints: [{ ...ALWAYS, ensure: 'UntilReady', readyWhen: READY }] }) },
      },
      {
        why: 'not where an entry keeps it off',
        update: { oldAllowRemoval: GPU, newAllowRemoval: GPU },
        allowRemoval: GPU,
      },
      {
        why: 'not where another policy protects the value that the node carries',
        policies: { p: requiring(POOL), q: policy({ mode: 'Deny', taints: [{ key: 'dedicated' }] }) },
        update: { before: [cpu], after: [cpu] },
        taints: [CPU],
      },
      {
        why: 'not where another policy protects that value and requires the same one: the leader sets it',
        policies: { p: requiring(POOL), q: policy({ mode: 'Deny', taints: [ALWAYS, { key: 'dedicated' }] }) },
        update: { before: [cpu], after: [cpu] },
        taints: [CPU],
      },
      {
        why: 'not where the policy names no value, and another one requires one: the leader sets it',
        policies: { p: requiring({ ...POOL, taints: [ANY] }), q: requiring() },
      },
      {
        why: 'not where another policy requires another value',
        policies: { p: requiring(POOL), q: requiring({ mode: 'Deny', taints: [{ ...ALWAYS, value: 'cpu' }] }) },
      },
      {
        why: 'not as the change of a value whose removal another policy refuses',
        policies: {
          p: requiring(POOL),
          q: policy({ mode: 'Deny', taints: [{ key: 'dedicated' }], removalByAnnotation: 'Forbidden' }),
        },
        update: { before: [cpu], after: [] },
        taints: undefined,
      },
    ],
  ),
  ...rows(
    'a change to the value that a policy requires passes',
    {
      policies: { p: requiring(), q: policy({ mode: 'Deny', taints: [{ key: 'dedicated' }] }) },
      update: { before: [cpu], after: [gpu] },
      taints: [GPU],
    },
    [
      { why: 'against the protection of a key', isSilent: true },
      {
        why: 'against the protection of the value',
        isSilent: true,
        policies: { p: requiring(), q: policy({ taints: [{ key: 'dedicated', value: 'cpu' }] }) },
      },
      {
        why: 'to no value, too',
        isSilent: true,
        policies: {
          p: requiring({ taints: [{ ...ALWAYS, value: '' }] }),
          q: policy({ mode: 'Deny', taints: [{ key: 'dedicated' }] }),
        },
        update: { after: [NO_VALUE] },
        taints: ['dedicated:NoSchedule'],
      },
      {
        why: 'against a policy that requires the other value',
        isSilent: true,
        policies: { p: requiring(), q: requiring({ taints: [{ ...ALWAYS, value: 'cpu' }] }) },
      },
      {
        why: 'not where the policy that requires it only audits',
        policies: { p: requiring({ mode: 'Audit' }), q: policy({ mode: 'Deny', taints: [{ key: 'dedicated' }] }) },
        taints: undefined,
      },
      {
        why: 'not where the policy that requires it does not select the node',
        policies: {
          p: requiring({ nodeSelector: { matchLabels: { a: 'b' } } }),
          q: policy({ mode: 'Deny', taints: [{ key: 'dedicated' }] }),
        },
        taints: undefined,
      },
      { why: 'only to that value', update: { after: [{ ...gpu, value: 'tpu' }] }, taints: undefined },
      { why: 'and not from it', update: { before: [gpu], after: [cpu] }, taints: undefined },
    ],
  ),
  ...rows(
    'a policy is for a node',
    { policies: { p: policy({ ...POOL, mode: 'Deny' }) }, update: REMOVES, taints: undefined },
    [
      { why: 'that it selects before and after', update: { oldLabels: GPU_POOL } },
      { why: 'that leaves it in the same update', update: { oldLabels: GPU_POOL, newLabels: {} } },
      {
        why: 'that leaves it by one of its labels',
        update: { oldLabels: { a: '', ...GPU_POOL }, newLabels: { a: '', pool: 'cpu' } },
      },
      { why: 'that joins it in the same update', update: { oldLabels: {}, newLabels: GPU_POOL } },
      { why: 'not for one that it never selects', update: { oldLabels: { pool: 'cpu' }, newLabels: {} }, taints: [] },
      {
        why: 'also in mode Restore: it cannot leave the policy and its taint in one request',
        policies: { p: policy(POOL) },
        update: { oldLabels: GPU_POOL, newLabels: {} },
        taints: [GPU],
      },
    ],
  ),
];

/** Those that an API server lets through: NodeRestriction refuses what nodes change of their taints. */
export const USER_UPDATE_CASES: readonly UpdateCase[] = UPDATE_CASES.filter(
  ({ update }) => update.requester === undefined || !isKubelet(update.requester),
);
