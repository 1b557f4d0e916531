import { expect, it } from 'vitest';
import { watchRollouts } from '../../../src/controllers/rollout-watch.ts';
import type { Rollout } from '../../../src/policy/rollout.ts';

const SECOND = 1_000;
const rollout = (status: Partial<Rollout['status']> = {}, generation = 2): Rollout => ({
  generation,
  onDelete: false,
  status: { observedGeneration: generation, desired: 5, updated: 5, unavailable: 0, ...status },
});

/** What is seen, by the second, and what is said of the last of them. */
function follow(...seen: readonly (readonly [seconds: number, Rollout])[]) {
  const watch = watchRollouts({ settleMs: 10 * SECOND, stalledMs: 600 * SECOND });
  return seen.map(([seconds, one]) => watch.look('uid', one, 0, seconds * SECOND)).at(-1);
}

it('is settled once it has been healthy for a while', () => {
  expect(follow([0, rollout()])).toEqual({ rolledOut: true, settled: false, stalled: false, changesInMs: 10 * SECOND });
  expect(follow([0, rollout()], [9, rollout()])).toMatchObject({ settled: false, changesInMs: 1 * SECOND });
  expect(follow([0, rollout()], [10, rollout()])).toMatchObject({ settled: true, changesInMs: Infinity });
});

it.each([
  { why: 'a pod that crashes', between: rollout({ unavailable: 1 }), last: rollout() },
  { why: 'another template', between: rollout({}, 3), last: rollout({}, 3) },
])('$why begins the while anew', ({ between, last }) => {
  expect(follow([0, rollout()], [8, between], [16, last])).toMatchObject({ settled: false });
  expect(follow([0, rollout()], [8, between], [16, last], [26, last])).toMatchObject({ settled: true });
});

it('is stalled when nothing has moved for long', () => {
  const stuck = rollout({ updated: 1, unavailable: 1 });
  expect(follow([0, stuck], [599, stuck])).toMatchObject({ stalled: false, changesInMs: 1 * SECOND });
  expect(follow([0, stuck], [600, stuck])).toMatchObject({ stalled: true, rolledOut: false });
});

it.each([
  { why: 'one more pod is replaced', next: rollout({ updated: 2, unavailable: 1 }), progress: true },
  { why: 'fewer are unavailable than ever', next: rollout({ updated: 1, unavailable: 0 }), progress: true },
  { why: 'more are unavailable', next: rollout({ updated: 1, unavailable: 2 }), progress: false },
  { why: 'a node joins', next: rollout({ updated: 1, unavailable: 1, desired: 6 }), progress: false },
])('$why: progress, $progress', ({ next, progress }) => {
  const stuck = rollout({ updated: 1, unavailable: 1 });
  expect(follow([0, stuck], [500, next], [700, next])).toMatchObject({ stalled: !progress });
});

it('is stalled also while its pods crash in turns', () => {
  const [up, down] = [rollout(), rollout({ unavailable: 1 })];
  const seen = Array.from({ length: 120 }, (_, index) => [index * 6, index % 2 ? up : down] as const);
  expect(follow(...seen)).toMatchObject({ settled: false, stalled: true });
});

it('what was well for days is not stalled as soon as it ails', () => {
  const ailing = rollout({ unavailable: 1 });
  expect(follow([0, rollout()], [90_000, rollout()], [90_001, ailing])).toMatchObject({ stalled: false });
  expect(follow([0, rollout()], [90_000, rollout()], [90_600, ailing])).toMatchObject({ stalled: true });
});
