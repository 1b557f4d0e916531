import { expect, it } from 'vitest';
import { unmet } from '../../../../src/judge/startup/blocker.ts';
import { lastingObstaclesOn } from '../../../../src/judge/startup/lasting-obstacles.ts';

const taint = (key: string) => ({ key, effect: 'NoSchedule' });
const KEPT = 'kept';

/** For each startup taint: by which taints one of its DaemonSets each is kept off. */
function obstaclesOn(startup: Readonly<Record<string, readonly string[]>>): Record<string, string[]> {
  const waiting = Object.entries(startup).map(([key, untolerated]) => ({
    requirement: { taint: taint(key) },
    blockers: [unmet('a resource'), ...untolerated.map((one) => ({ ...unmet('x'), untolerated: [taint(one)] }))],
  }));
  const lastingTo = lastingObstaclesOn(waiting, ({ key }) => key === KEPT);
  return Object.fromEntries(waiting.map((one) => [one.requirement.taint.key, lastingTo(one).map(({ key }) => key)]));
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
  { why: 'not the taint itself, which another fault tells', startup: { a: ['a'] }, lasting: { a: [] } },
  {
    why: 'one that does not go because of its own taint',
    startup: { a: ['a'], b: ['a'] },
    lasting: { a: [], b: ['a'] },
  },
])('what keeps DaemonSets of a startup taint off a node for good: $why', ({ startup, lasting }) => {
  expect(obstaclesOn(startup)).toEqual(lasting);
});
