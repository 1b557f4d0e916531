import { expect, it } from 'vitest';
import { HARMS, type Harm, harmOfCondition, worstFirst } from '../../../../src/policy/reporting/harm.ts';

interface Problem {
  readonly text: string;
  readonly harm: Harm;
  readonly count?: number;
}
const rank = (...problems: readonly Problem[]) =>
  worstFirst(
    problems,
    ({ harm }) => harm,
    ({ count = 0 }) => count,
  ).map(({ text }) => text);

it.each<{ why: string; problems: readonly [worse: Problem, better: Problem] }>([
  {
    why: 'a CNI that is missing comes before a certificate that is not trusted',
    problems: [
      { text: 'cilium is kept off 1 node', harm: 'NodesWithoutDaemons', count: 1 },
      { text: '3 webhooks are not trusted', harm: 'NotReachable', count: 3 },
    ],
  },
  {
    why: 'all requests fail before a policy that protects nothing',
    problems: [
      { text: 'the certificate has expired', harm: 'NotReachable' },
      { text: '3 policies are not in force', harm: 'NotInForce', count: 3 },
    ],
  },
  {
    why: 'what the leader has seen comes before what a review says, which may be forged',
    problems: [
      { text: 'a rollout hangs', harm: 'Stalled' },
      { text: 'the node controller is denied', harm: 'ComponentsDenied', count: 400 },
    ],
  },
  {
    why: 'requests that fail come before what a policy only reports',
    problems: [
      { text: 'a kubelet is denied', harm: 'ComponentsDenied' },
      { text: 'in mode Audit, 100 taints are missing', harm: 'Reported', count: 100 },
    ],
  },
  {
    why: 'a policy that is not in force may protect everything that the others only miss in part',
    problems: [
      { text: 'a policy is not in force', harm: 'NotInForce' },
      { text: 'a taint is missing', harm: 'Missing', count: 10 },
    ],
  },
  {
    why: 'what nothing restores comes before what is restored and removed again',
    problems: [
      { text: 'a taint is missing on 1 node', harm: 'Missing', count: 1 },
      { text: 'a conflict on 5 nodes', harm: 'Conflict', count: 5 },
    ],
  },
  {
    why: 'a conflict opens nodes to pods, a rollout that hangs does not',
    problems: [
      { text: 'a conflict', harm: 'Conflict' },
      { text: 'a rollout hangs', harm: 'Stalled' },
    ],
  },
  {
    why: 'what a trial reports is expected',
    problems: [
      { text: 'a rollout hangs', harm: 'Stalled' },
      { text: 'in mode Audit, 100 taints are missing', harm: 'Reported', count: 100 },
    ],
  },
  {
    why: 'what ends by itself comes last',
    problems: [
      { text: 'in mode Audit, a taint is missing', harm: 'Reported', count: 1 },
      { text: '400 nodes are being repaired', harm: 'Repairing', count: 400 },
    ],
  },
  {
    why: 'of the same harm, the one of more nodes comes first',
    problems: [
      { text: 'missing on 119 nodes', harm: 'Missing', count: 119 },
      { text: 'missing on 3 nodes', harm: 'Missing', count: 3 },
    ],
  },
])('ranks: $why', ({ problems: [worse, better] }) => {
  expect(rank(better, worse)).toEqual([worse.text, better.text]);
  expect(rank(worse, better)).toEqual([worse.text, better.text]);
});

it('keeps the order of problems with equal harm', () => {
  const problems = ['b', 'a', 'c'].map((text) => ({ text, harm: 'Missing', count: 1 }) as const);
  expect(rank(...problems)).toEqual(['b', 'a', 'c']);
});

it.each<{ condition: readonly [type: string, status: string, reason: string]; harm: Harm }>([
  { condition: ['Ready', 'False', 'Invalid'], harm: 'NotInForce' },
  { condition: ['Ready', 'False', 'NotRegistered'], harm: 'NotInForce' },
  { condition: ['Ready', 'False', 'EarlierInForce'], harm: 'Stalled' },
  { condition: ['Stalled', 'True', 'UnknownFields'], harm: 'NotInForce' },
  // The policy may be in force: another writer may change only timeoutSeconds. While a webhook is not as required, Ready is False.
  { condition: ['Stalled', 'True', 'WebhookConflict'], harm: 'Stalled' },
  { condition: ['Stalled', 'True', 'WouldEvictPods'], harm: 'Missing' },
  { condition: ['Stalled', 'True', 'RequiredValuesDiffer'], harm: 'Missing' },
  { condition: ['Stalled', 'True', 'RepairRefused'], harm: 'Missing' },
  { condition: ['Stalled', 'True', 'TolerationMissing'], harm: 'Missing' },
  { condition: ['Stalled', 'True', 'TaintConflict'], harm: 'Conflict' },
  { condition: ['Stalled', 'True', 'NotPermitted'], harm: 'Stalled' },
  { condition: ['Stalled', 'True', 'OfALaterVersion'], harm: 'Stalled' },
  // A name that every object has.
  { condition: ['Stalled', 'True', 'constructor'], harm: 'Stalled' },
  { condition: ['Ready', 'True', 'PoolLacksTaint'], harm: 'Reported' },
  { condition: ['Ready', 'True', 'InForce'], harm: 'Reported' },
])('a condition: $condition', ({ condition: [type, status, reason], harm }) => {
  expect(harmOfCondition({ type, status, reason })).toBe(harm);
});

it('lists each harm once', () => {
  expect(new Set(HARMS).size).toBe(HARMS.length);
});
