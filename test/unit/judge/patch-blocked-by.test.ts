import { expect, it, vi } from 'vitest';
import {
  exclusionOf,
  isAwaitingPatch,
  type PatchBlockedBy,
  type PatchCandidate,
  type PatchConditions,
  patchBlockedBy,
} from '../../../src/judge/patch-blocked-by.ts';

const OPTED_OUT = { 'taintkeeper.dev/ignore': 'true' };

it.each([
  { why: 'its pods may run anywhere', of: {}, exclusion: undefined },
  { why: 'taintkeeper runs in its namespace', of: { namespace: 'taintkeeper' }, exclusion: 'Excluded' },
  { why: 'it is annotated', of: { annotations: OPTED_OUT }, exclusion: 'Excluded' },
  {
    why: 'it is annotated and deleted: what was added is forgotten',
    of: { annotations: OPTED_OUT, deleting: true },
    exclusion: 'Excluded',
  },
  { why: 'it is deleted', of: { deleting: true }, exclusion: 'Unpatchable' },
  { why: 'the cache has an earlier version', of: {}, isKept: false, exclusion: 'Unpatchable' },
])('exclusion $exclusion of a DaemonSet: $why', ({ of, isKept = true, exclusion }) => {
  const daemonSet = { namespace: 'kube-system', annotations: {}, deleting: false, ...of };
  expect(exclusionOf(daemonSet, { ownNamespace: 'taintkeeper', isKept })).toBe(exclusion);
});

interface PatchCase {
  why: string;
  of?: Partial<PatchCandidate>;
  when?: Partial<PatchConditions>;
  blockedBy: PatchBlockedBy | undefined;
  isAwaiting: boolean;
}

const PATCH_CASES: readonly PatchCase[] = [
  { why: 'it is due', blockedBy: undefined, isAwaiting: true },
  {
    why: 'it has all tolerations, and is not healthy',
    of: { missing: [], rollout: { stable: false, stalled: true } },
    blockedBy: 'NothingMissing',
    isAwaiting: false,
  },
  {
    why: 'another writer wins, although it is not healthy',
    of: { isUndone: true, rollout: { stable: false, stalled: true } },
    blockedBy: 'RemovedAgain',
    isAwaiting: false,
  },
  {
    why: 'no toleration is added to so many, whatever its pods do',
    of: { tooManyTolerations: true, rollout: { stable: false, stalled: true } },
    blockedBy: 'TooManyTolerations',
    isAwaiting: false,
  },
  {
    why: 'it is not healthy for long, whatever the API server said before',
    of: { rollout: { stable: false, stalled: true } },
    when: { isRefused: true },
    blockedBy: 'Stalled',
    isAwaiting: true,
  },
  {
    why: 'it is not healthy yet',
    of: { rollout: { stable: false, stalled: false } },
    when: { isRollingOut: true },
    blockedBy: 'Unstable',
    isAwaiting: true,
  },
  {
    why: 'the API server refused it, and another one is patched',
    when: { isRefused: true, isRollingOut: true },
    blockedBy: 'Refused',
    isAwaiting: true,
  },
  { why: 'another one is patched', when: { isRollingOut: true }, blockedBy: 'OtherRollout', isAwaiting: true },
  { why: 'the right is missing', when: { isPermitted: () => false }, blockedBy: 'NotPermitted', isAwaiting: true },
  {
    why: 'the right is not known yet',
    when: { isPermitted: () => undefined },
    blockedBy: 'NotPermitted',
    isAwaiting: true,
  },
];

const DUE: PatchCandidate = {
  missing: ['gpu:NoSchedule'],
  isUndone: false,
  tooManyTolerations: false,
  rollout: { stable: true, stalled: false },
};
const PERMITTED: PatchConditions = { isRefused: false, isRollingOut: false, isPermitted: () => true };

it.each(PATCH_CASES)('patch blocked by $blockedBy: $why', ({ of, when, blockedBy, isAwaiting }) => {
  expect(patchBlockedBy({ ...DUE, ...of }, { ...PERMITTED, ...when })).toBe(blockedBy);
  expect(isAwaitingPatch(blockedBy)).toBe(isAwaiting);
});

// The first question causes a request.
it.each(PATCH_CASES)('the right is checked last: $why', ({ of, when, blockedBy }) => {
  const isPermitted = vi.fn(when?.isPermitted ?? PERMITTED.isPermitted);
  patchBlockedBy({ ...DUE, ...of }, { ...PERMITTED, ...when, isPermitted });
  expect(isPermitted).toHaveBeenCalledTimes(blockedBy === undefined || blockedBy === 'NotPermitted' ? 1 : 0);
});
