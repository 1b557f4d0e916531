import { describe, expect, it } from 'vitest';
import {
  CERTAIN_MS,
  type Custodies,
  isMisplaced,
  misplacedPodsState,
  type ReturnedTaint,
  takeNotice,
} from '../../../src/evictions/misplaced-pods.ts';
import type { NodePod } from '../../../src/evictions/node-pods.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { Toleration } from '../../../src/kubernetes/toleration.ts';
import { withRecorded } from '../judge/established.ts';
import { nodeOf, type Policies, rule } from '../judge/node-drifts.ts';
import { policySet } from '../policy/policies.ts';
import { podOf } from './pods.ts';

const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const GPU = 'dedicated=gpu:NoSchedule';
const plain: Taint = { key: 'dedicated', effect: 'NoSchedule' };

interface Sight {
  /** What the record of the node lists, and what it lists as removed with permission. */
  readonly recorded?: string;
  readonly removed?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
}

/** Sights of a node, one a second from 1 s on. */
function follow(sights: readonly Sight[], { earlier, policies = {} }: { earlier?: number; policies?: Policies } = {}) {
  const { taintPolicies } = policySet({ taint: policies });
  let known: Custodies | undefined;
  return sights.map(({ recorded, removed, labels = {}, taints }, index) => {
    const node = withRecorded(nodeOf(taints, { labels }), recorded, removed);
    const { after, returned } = takeNotice(node, taintPolicies, known, 1_000 * (index + 1), earlier);
    known = after;
    return returned.map(({ since, missingAt, backAt }) => [since, missingAt, backAt]);
  });
}

const has = (...taints: Taint[]): Sight => ({ recorded: GPU, taints });

describe('a recorded taint has returned', () => {
  it.each<{ what: string; sights: Sight[]; earlier?: number; returned: number[][][] }>([
    {
      what: 'when it is there again, with the time since when the node has had to carry it',
      sights: [has(gpu), has(), has(), has(gpu), has(gpu)],
      returned: [[], [], [], [[1_000, 2_000, 4_000]], []],
    },
    {
      what: 'also when it was missing at first sight: then the node has had to carry it since the leader before',
      sights: [has(), has(gpu)],
      earlier: 100,
      returned: [[], [[100, 1_000, 2_000]]],
    },
    {
      what: 'each time',
      sights: [has(gpu), has(), has(gpu), has(), has(gpu)],
      returned: [[], [], [[1_000, 2_000, 3_000]], [], [[1_000, 4_000, 5_000]]],
    },
    {
      what: 'and not when it is put there for the first time',
      sights: [{ taints: [] }, has(gpu)],
      returned: [[], []],
    },
    {
      what: 'nor when it was removed with permission, and a user puts it there anew',
      sights: [has(gpu), { taints: [] }, has(gpu), has(), has(gpu)],
      earlier: 100,
      returned: [[], [], [], [], [[3_000, 4_000, 5_000]]],
    },
    {
      what: 'when it has its recorded value again',
      sights: [has(gpu), has({ ...gpu, value: 'cpu' }), has(gpu)],
      returned: [[], [], [[1_000, 2_000, 3_000]]],
    },
    {
      what: 'but not if it evicts pods, keeps no pods away, or is one that Kubernetes sets and removes',
      sights: ['a:NoExecute, b:PreferNoSchedule, node.kubernetes.io/not-ready:NoSchedule'].flatMap((recorded) => [
        { recorded, taints: [] },
        {
          recorded,
          taints: [
            { key: 'a', effect: 'NoExecute' },
            { key: 'b', effect: 'PreferNoSchedule' },
            { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
          ],
        },
      ]),
      returned: [[], []],
    },
  ])('$what', ({ sights, earlier, returned }) =>
    expect(follow(sights, earlier === undefined ? {} : { earlier })).toEqual(returned),
  );
});

describe('a required taint that no record lists has returned', () => {
  const REQUIRED = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' } as const;
  const policies = { p: rule('Restore', REQUIRED, { nodeSelector: { matchLabels: { pool: 'gpu' } } }) };
  const labels = { pool: 'gpu' };
  const carries = (...taints: Taint[]): Sight => ({ labels, taints });

  it.each<{ what: string; sights: Sight[]; earlier?: number; policies?: Policies; returned: number[][][] }>([
    {
      what: 'when it is there again',
      sights: [carries(gpu), carries(), carries(gpu)],
      returned: [[], [], [[1_000, 2_000, 3_000]]],
    },
    {
      what: 'also when it was missing at first sight',
      sights: [carries(), carries(gpu)],
      earlier: 100,
      returned: [[], [[100, 1_000, 2_000]]],
    },
    {
      what: 'and not when the node gets it for the first time, because a label has made the policy select it',
      sights: [{ taints: [] }, carries(), carries(gpu)],
      returned: [[], [], []],
    },
    {
      what: 'nor when it was removed with permission before a user set it again',
      sights: [carries(gpu), { ...carries(), removed: GPU }, carries(gpu), carries(), carries(gpu)],
      returned: [[], [], [], [], [[3_000, 4_000, 5_000]]],
    },
    {
      what: 'nor where the policy is in mode Audit',
      policies: { p: rule('Audit', REQUIRED) },
      sights: [carries(gpu), carries(), carries(gpu)],
      returned: [[], [], []],
    },
    {
      what: 'nor where the policy requires it with any value: then records list the one that the node had',
      policies: { p: rule('Restore', { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' }) },
      sights: [carries(plain), carries(), carries(plain)],
      returned: [[], [], []],
    },
  ])('$what', ({ sights, earlier, policies: others = policies, returned }) =>
    expect(follow(sights, { policies: others, ...(earlier === undefined ? {} : { earlier }) })).toEqual(returned),
  );
});

const SINCE = 10_000;
const MISSING = 60_000;
const BACK = 90_000;
const RETURNED: ReturnedTaint = { taint: gpu, since: SINCE, missingAt: MISSING, backAt: BACK };

describe('a misplaced pod', () => {
  it.each<{ what: string; at: number; part?: Partial<NodePod>; misplaced: boolean }>([
    { what: 'landed while the taint was missing', at: 70_000, misplaced: true },
    { what: 'or in an earlier gap that the leader did not see', at: 30_000, misplaced: true },
    { what: 'or in the second of the loss', at: 60_000, misplaced: true },
    { what: 'or just as the taint came back', at: 90_000, misplaced: true },
    { what: 'but not before the node had to carry the taint', at: 9_000, misplaced: false },
    { what: 'nor about then: the scheduler may not have heard', at: SINCE + CERTAIN_MS - 1, misplaced: false },
    {
      what: 'nor if it tolerates the taint',
      at: 70_000,
      part: { tolerations: [{ operator: 'Exists' }] },
      misplaced: false,
    },
    {
      what: 'but if it tolerates another one',
      at: 70_000,
      part: { tolerations: [{ key: 'dedicated', value: 'cpu' }] },
      misplaced: true,
    },
    {
      what: 'that names its node came while the taint was seen missing',
      at: 70_000,
      part: { isScheduled: false },
      misplaced: true,
    },
    { what: 'and not before: taints do not keep it off', at: 30_000, part: { isScheduled: false }, misplaced: false },
    { what: 'nor about the time of the loss', at: 60_000, part: { isScheduled: false }, misplaced: false },
    { what: 'nor about the time of the return', at: 89_000, part: { isScheduled: false }, misplaced: false },
  ])('$what', ({ at, part, misplaced }) => expect(isMisplaced(podOf('a', at, part), RETURNED)).toBe(misplaced));

  it.each<{ toleration: Toleration; misplaced: boolean }>([
    { toleration: { key: 'dedicated', operator: 'Gt', value: '5' }, misplaced: false },
    { toleration: { key: 'dedicated', operator: 'Lt', value: '5', effect: 'NoSchedule' }, misplaced: false },
    { toleration: { key: 'dedicated', operator: 'Gt', value: '5', effect: 'NoExecute' }, misplaced: true },
    { toleration: { key: 'another', operator: 'Gt', value: '5' }, misplaced: true },
  ])(
    'is not one for certain where the operator of $toleration is not known here: $misplaced',
    ({ toleration, misplaced }) =>
      expect(isMisplaced(podOf('a', 200_000, { tolerations: [toleration] }), RETURNED)).toBe(misplaced),
  );
});

describe('the condition MisplacedPods', () => {
  const on = (node: string, pods: readonly string[]) => ({ node, pods });

  it('is absent without misplaced pods', () => {
    expect(misplacedPodsState([])).toBeUndefined();
    expect(misplacedPodsState([on('n1', [])])).toBeUndefined();
  });

  it('names the pods and their nodes', () => {
    expect(misplacedPodsState([on('n1', ['default/a', 'default/b']), on('n2', ['default/c'])])).toEqual({
      status: 'True',
      reason: 'PodsLanded',
      message:
        '3 pods landed on 2 nodes while a taint was missing, and do not tolerate it: default/a on n1, default/b on n1, default/c on n2',
    });
  });

  it('names a few of many', () => {
    const pods = Array.from({ length: 900 }, (_, index) => `default/p${index}`);
    expect(misplacedPodsState([on('n1', pods)])?.message).toMatch(
      /^900 pods landed on 1 node .* default\/p3 on n1, and 896 more$/,
    );
  });
});
