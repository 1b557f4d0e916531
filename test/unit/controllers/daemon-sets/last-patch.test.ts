import { expect, it, vi } from 'vitest';
import type { ClusterDaemonSet } from '../../../../src/cluster/objects/cluster-objects.ts';
import type { Entry } from '../../../../src/cluster/watch/cached-objects.ts';
import type { LostPatchOutcome, PatchOutcome } from '../../../../src/controllers/daemon-sets/daemon-set-writer.ts';
import { lastPatch } from '../../../../src/controllers/daemon-sets/last-patch.ts';
import type { RunningDaemonSet } from '../../../../src/controllers/daemon-sets/running-daemon-set.ts';
import { stopClock } from '../../stopped-clock.ts';

const entryOf = (resourceVersion: string, uid = 'u') =>
  ({ name: 'cni', namespace: 'a', uid, resourceVersion }) as Entry<ClusterDaemonSet>;

/** A patch of the version 1 that ended so. `unanswered`: the client throws. */
async function startWith(written: PatchOutcome | 'unanswered', outcome: LostPatchOutcome = 'unchanged') {
  stopClock();
  const cache: { entry: Entry<ClusterDaemonSet> | undefined; isUnreadable: boolean } = {
    entry: entryOf('1'),
    isUnreadable: false,
  };
  const patch = lastPatch(
    {
      async patch() {
        if (written === 'unanswered') throw new Error('no answer');
        return written;
      },
      outcome: async () => outcome,
    },
    { get: () => cache.entry, isUnreadable: () => cache.isUnreadable },
  );
  expect(patch.state()).toBeUndefined();
  const sent = patch.send({ entry: cache.entry } as RunningDaemonSet);
  if (written === 'unanswered') await expect(sent).rejects.toThrow('no answer');
  else expect((await sent).outcome).toBe(written);
  return { patch, cache };
}

it.each<{ written: PatchOutcome | 'unanswered'; state: string | undefined }>([
  { written: { resourceVersion: '2' }, state: 'Written' },
  { written: 'changed', state: undefined },
  { written: { refused: 'denied', mayArrive: false }, state: undefined },
  { written: { refused: 'denied', mayArrive: true }, state: 'Sent' },
  { written: 'unanswered', state: 'Sent' },
])('a patch that ended with $written is $state', async ({ written, state }) => {
  const { patch } = await startWith(written);
  expect(patch.state()).toBe(state);
});

it.each<{ written: PatchOutcome | 'unanswered'; ended: PatchOutcome | undefined }>([
  { written: 'unanswered', ended: { refused: 'no answer', mayArrive: false } },
  // This was told at once.
  { written: { refused: 'denied', mayArrive: true }, ended: undefined },
])('a patch that ended with $written is Sent until it can no longer arrive, and then $ended', async (given) => {
  const { patch } = await startWith(given.written);
  vi.advanceTimersByTime(69_999);
  expect(await patch.settle()).toBeUndefined();
  expect(patch.state()).toBe('Sent');
  vi.advanceTimersByTime(1);
  expect((await patch.settle())?.outcome).toEqual(given.ended);
  expect(patch.state()).toBeUndefined();
});

it.each<{ outcome: LostPatchOutcome; state: string | undefined }>([
  { outcome: { resourceVersion: '2' }, state: 'Written' },
  { outcome: 'changed', state: undefined },
])('tells once that a patch without an answer ended with $outcome', async ({ outcome, state }) => {
  const { patch } = await startWith('unanswered', outcome);
  expect((await patch.settle())?.outcome).toBe(outcome);
  expect(patch.state()).toBe(state);
  expect(await patch.settle()).toBeUndefined();
});

it.each<{ why: string; entry: Entry<ClusterDaemonSet> | undefined; isUnreadable?: boolean; state: string | undefined }>(
  [
    { why: 'the cache has an earlier version', entry: entryOf('1'), state: 'Written' },
    { why: 'the cache has its version', entry: entryOf('2'), state: undefined },
    { why: 'the cache has a later version', entry: entryOf('10'), state: undefined },
    { why: 'the DaemonSet was deleted', entry: undefined, state: undefined },
    { why: 'another DaemonSet has its name', entry: entryOf('1', 'other'), state: undefined },
    { why: 'the cache cannot read later versions', entry: entryOf('1'), isUnreadable: true, state: undefined },
  ],
)('a written patch is then $state if $why', async ({ entry, isUnreadable = false, state }) => {
  const { patch, cache } = await startWith({ resourceVersion: '2' });
  Object.assign(cache, { entry, isUnreadable });
  await patch.settle();
  expect(patch.state()).toBe(state);
});
