import { describe, expect, it } from 'vitest';
import {
  type BlockedBy,
  harmOfMissingTaint,
  type MissingTaintDetails,
  nextStepFor,
  whyNotSet,
} from '../../../src/judge/missing-taint.ts';

describe('why a required taint is not set', () => {
  it.each<{ blockedBy: BlockedBy | undefined; more?: MissingTaintDetails; text: string }>([
    { blockedBy: undefined, text: 'the leader is about to set it' },
    { blockedBy: 'ModeDoesNotRestore', text: 'mode Audit does not set it' },
    { blockedBy: 'ModeDoesNotRestore', more: { onTrial: true }, text: 'only --audit keeps it from being set' },
    // --audit keeps nothing from being set that would evict pods.
    {
      blockedBy: 'WouldEvictPods',
      more: { onTrial: true },
      text: 'it would evict pods, so a node gets it only when it registers',
    },
    {
      blockedBy: 'OtherValuePresent',
      text: 'the node carries another value of it, which another policy protects or sets',
    },
    { blockedBy: 'ValuesDiffer', more: { otherWriter: 'kubectl' }, text: 'policies require different values of it' },
    { blockedBy: 'Conflict', text: 'another writer removes it repeatedly' },
    {
      blockedBy: 'Conflict',
      more: { otherWriter: 'manager kubectl' },
      text: 'another writer removes it repeatedly, last by manager kubectl',
    },
  ])('is said in the same words everywhere: $text', ({ blockedBy, more, text }) => {
    expect(whyNotSet(blockedBy, more)).toBe(text);
  });
});

it.each<{ blockedBy: BlockedBy | undefined; next: string }>([
  { blockedBy: undefined, next: 'Wait' },
  { blockedBy: 'OtherValuePresent', next: 'SetTaint' },
  { blockedBy: 'ValuesDiffer', next: 'ChooseValue' },
  { blockedBy: 'Conflict', next: 'StopWriter' },
])('the next step of a user is $next if the taint is blocked by $blockedBy', ({ blockedBy, next }) => {
  expect(nextStepFor(blockedBy)).toBe(next);
});

it.each([
  { blockedBy: undefined, mode: 'Restore', harm: 'Repairing' },
  { blockedBy: undefined, mode: 'Deny', harm: 'Repairing' },
  { blockedBy: 'Conflict', mode: 'Restore', harm: 'Conflict' },
  { blockedBy: 'Conflict', mode: 'Audit', harm: 'Conflict' },
  { blockedBy: 'ModeDoesNotRestore', mode: 'Audit', harm: 'Reported' },
  { blockedBy: 'ModeDoesNotRestore', mode: 'Restore', harm: 'Missing' },
  { blockedBy: 'WouldEvictPods', mode: 'Deny', harm: 'Missing' },
  { blockedBy: 'ValuesDiffer', mode: 'Audit', harm: 'Missing' },
  { blockedBy: 'OtherValuePresent', mode: 'Restore', harm: 'Missing' },
] as const)('$harm: $blockedBy in mode $mode', ({ blockedBy, mode, harm }) => {
  expect(harmOfMissingTaint(blockedBy, mode)).toBe(harm);
});
