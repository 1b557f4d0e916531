import { describe, expect, it } from 'vitest';
import {
  consumeAllowedRemovals,
  isRemovalAllowed,
  parseAllowedRemovals,
  unreadableEntries,
} from '../../../src/judge/removal.ts';

const gpu = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const plain = { key: 'example.com/plain', effect: 'NoExecute' };

describe('isRemovalAllowed', () => {
  it.each([
    { annotation: undefined, taint: gpu, yes: false },
    { annotation: '', taint: gpu, yes: false },
    { annotation: 'dedicated=gpu:NoSchedule', taint: gpu, yes: true },
    { annotation: ' a:NoExecute ,dedicated=gpu:NoSchedule, ', taint: gpu, yes: true },
    { annotation: 'dedicated:NoSchedule', taint: gpu, yes: true },
    { annotation: 'dedicated=:NoSchedule', taint: gpu, yes: false },
    { annotation: 'dedicated=cpu:NoSchedule', taint: gpu, yes: false },
    { annotation: 'dedicated=gpu:NoExecute', taint: gpu, yes: false },
    { annotation: 'example.com/plain:NoExecute', taint: plain, yes: true },
    { annotation: 'example.com/plain=:NoExecute', taint: plain, yes: true },
    { annotation: 'dedicated', taint: gpu, yes: false },
    { annotation: 'dedicated=gpu', taint: gpu, yes: false },
    { annotation: '*:NoSchedule', taint: gpu, yes: false },
    { annotation: 'true', taint: gpu, yes: false },
  ])('"$annotation" releases $taint: $yes', ({ annotation, taint, yes }) => {
    expect(isRemovalAllowed(parseAllowedRemovals(annotation), taint)).toBe(yes);
  });
});

describe('consumeAllowedRemovals', () => {
  it('takes the entry out and keeps the others', () => {
    expect(
      consumeAllowedRemovals(parseAllowedRemovals('a:NoExecute, dedicated=gpu:NoSchedule,b:NoSchedule'), [gpu]),
    ).toBe('a:NoExecute, b:NoSchedule');
  });

  it('leaves nothing of a release that is used up', () => {
    expect(consumeAllowedRemovals(parseAllowedRemovals('dedicated:NoSchedule'), [gpu])).toBeUndefined();
  });
});

it('unreadableEntries shows what was meant to be an entry', () => {
  expect(unreadableEntries(parseAllowedRemovals('dedicated=gpu, a:NoExecute, x:noschedule'))).toEqual([
    'dedicated=gpu',
    'x:noschedule',
  ]);
});
