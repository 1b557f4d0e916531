import { expect, it } from 'vitest';
import { blockedText, whyBlocked } from '../../../src/judge/blocked.ts';
import type { Loss } from '../../../src/judge/node-drift.ts';
import { type BlockedBy, MAX_BLOCKED_MESSAGE } from '../../../src/judge/node-record.ts';
import { driftOf, nodeOf, rule } from './node-drifts.ts';

const [loss] = driftOf(
  { p: rule('Deny', { key: 'dedicated', restrict: ['Removal'] }) },
  nodeOf([]),
  'dedicated:NoSchedule',
).losses;
if (loss === undefined) throw new Error('no loss');
const blockedLoss = (blockedBy: Loss['blockedBy']): Loss => ({ ...loss, blockedBy });

it.each<{ blockedBy: BlockedBy; writer?: string; text: string }>([
  { blockedBy: 'ModeDoesNotRestore', text: 'mode Deny does not restore it' },
  {
    blockedBy: 'WouldEvictPods',
    text: 'it would evict pods, so it is set only when a node registers: add it by hand',
  },
  { blockedBy: 'OtherValuePresent', text: 'another value of it comes first' },
  { blockedBy: 'Conflict', text: 'another writer removes it repeatedly' },
  { blockedBy: 'Conflict', writer: 'karpenter', text: 'another writer removes it repeatedly, last by karpenter' },
])('$blockedBy: $text', ({ blockedBy, writer, text }) => {
  expect(blockedText(blockedLoss(blockedBy), blockedBy, writer)).toBe(text);
  const facts = { otherWriterOf: () => writer, refusal: 'another reason' };
  expect(whyBlocked(blockedLoss(blockedBy), facts)).toEqual({ reason: blockedBy, message: text });
});

it('a refused update is the reason where nothing else prevents the restoration, and its message is shortened', () => {
  const why = (refusal: string | undefined) =>
    whyBlocked(blockedLoss(undefined), { otherWriterOf: () => 'karpenter', refusal });
  expect(why(undefined)).toBeUndefined();
  expect(why('no\nway')).toEqual({ reason: 'UpdateRefused', message: 'no\\u{a}way' });
  expect(why('x'.repeat(2 * MAX_BLOCKED_MESSAGE))?.message).toHaveLength(MAX_BLOCKED_MESSAGE);
});
