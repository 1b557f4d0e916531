import { expect, it, vi } from 'vitest';
import { unmet } from '../../../../src/judge/startup/blocker.ts';
import { lastingObstaclesOn } from '../../../../src/judge/startup/lasting-obstacles.ts';

const taint = (key: string) => ({ key, effect: 'NoSchedule' });
const KEPT = 'kept';
const REMOVED = 'removed';
const UNKNOWN = 'unknown';

/**
 * For each startup taint: by which taints one of its DaemonSets each is kept off; a DaemonSet may be kept off by two, as `a+b`. `REMOVED` stands for
 * `afterDeadline: Remove`, and `UNKNOWN` for a part of the policy that this version does not know.
 */
function obstaclesOn(startup: Readonly<Record<string, readonly string[]>>): Record<string, string[]> {
  const waiting = Object.entries(startup).map(([key, keptOffBy]) => ({
    requirement: {
      taint: taint(key),
      removeAfterMs: keptOffBy.includes(REMOVED) ? 600_000 : undefined,
      unknownParts: keptOffBy.includes(UNKNOWN) ? ['TaintPolicy p (spec.future)'] : [],
    },
    blockers: [
      unmet('a resource'),
      ...keptOffBy.map((one) => ({ ...unmet('x'), keptOff: { name: 'ns/d', by: one.split('+').map(taint) } })),
    ],
  }));
  const lastingTo = lastingObstaclesOn(waiting, ({ key }) => key === KEPT);
  const keysOf = (one: (typeof waiting)[number]) => lastingTo(one).flatMap(({ by }) => by.map(({ key }) => key));
  return Object.fromEntries(waiting.map((one) => [one.requirement.taint.key, keysOf(one)]));
}

it.each([
  { why: 'none', startup: { a: [] }, lasting: { a: [] } },
  { why: 'a taint that policies keep', startup: { a: [KEPT] }, lasting: { a: [KEPT] } },
  { why: 'not a taint of another writer, who may remove it', startup: { a: ['other'] }, lasting: { a: [] } },
  { why: 'not a startup taint that goes', startup: { a: ['b'], b: [] }, lasting: { a: [], b: [] } },
  { why: 'not one of a chain that goes', startup: { a: ['b'], b: ['c'], c: [] }, lasting: { a: [], b: [], c: [] } },
  { why: 'startup taints that wait for each other', startup: { a: ['b'], b: ['a'] }, lasting: { a: ['b'], b: ['a'] } },
  {
    why: 'three of them in a circle',
    startup: { a: ['b'], b: ['c'], c: ['a'] },
    lasting: { a: ['b'], b: ['c'], c: ['a'] },
  },
  {
    why: 'a startup taint that waits for what such a taint keeps off',
    startup: { a: ['b', 'other', 'c'], b: [KEPT], c: [] },
    lasting: { a: ['b'], b: [KEPT], c: [] },
  },
  {
    why: 'not a startup taint that its policies remove after the deadline',
    startup: { a: ['b'], b: ['a', REMOVED] },
    lasting: { a: [], b: [] },
  },
  {
    why: 'not one of a startup taint that its policies remove after the deadline',
    startup: { a: [KEPT, REMOVED], b: ['a'] },
    lasting: { a: [], b: [] },
  },
  {
    why: 'one of a startup taint that stays after the deadline, because its policy has a part that is not known',
    startup: { a: [KEPT, REMOVED, UNKNOWN], b: ['a'] },
    lasting: { a: [KEPT], b: ['a'] },
  },
  {
    why: 'one of two taints that keep a DaemonSet off',
    startup: { a: [`other+${KEPT}`], b: ['a'] },
    lasting: { a: [KEPT], b: ['a'] },
  },
  { why: 'not the taint itself, which another fault tells', startup: { a: ['a'] }, lasting: { a: [] } },
  {
    why: 'one that does not go because of its own taint',
    startup: { a: ['a'], b: ['a'] },
    lasting: { a: [], b: ['a'] },
  },
])('what keeps DaemonSets of a startup taint off a node for good: $why', ({ startup, lasting }) => {
  expect(obstaclesOn(startup)).toEqual(lasting);
});

it('asks once for each taint whether policies keep it', () => {
  const isKept = vi.fn(() => true);
  const waiting = ['a', 'b'].map((key) => ({
    requirement: { taint: taint(key), removeAfterMs: undefined, unknownParts: [] },
    blockers: [{ ...unmet('x'), keptOff: { name: 'ns/d', by: [taint(KEPT)] } }],
  }));
  const lastingTo = lastingObstaclesOn(waiting, isKept);
  expect(waiting.map(lastingTo)).toHaveLength(2);
  expect(isKept.mock.calls).toEqual([[taint(KEPT)]]);
});
