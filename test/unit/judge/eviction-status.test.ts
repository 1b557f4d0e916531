import { expect, it } from 'vitest';
import { evictionState, paceOf, type Waiting } from '../../../src/judge/eviction-pace.ts';

const waiting: Waiting = { nodes: 3, rate: 0.1, holds: [], podsHidden: undefined };
const pods = (...names: string[]) => ({ reason: 'PodsWithoutNode', names }) as const;
const zone = (name: string) => ({ reason: 'ZoneNotReady', zone: name, nodes: 10, notReady: 6 }) as const;

it.each([
  { rate: 0.1, pace: 'one node in 10 s in each zone at the most' },
  { rate: 0.03, pace: 'one node in 33.33 s in each zone at the most' },
  { rate: 1, pace: 'one node in 1 s in each zone at the most' },
  { rate: 2.5, pace: '2.5 nodes in 1 s in each zone at the most' },
  { rate: 0, pace: '' },
])('a rate of $rate is said as "$pace"', ({ rate, pace }) => {
  expect(paceOf(rate)).toBe(pace);
});

it.each<{ why: string; more: Partial<Waiting>; reason: string; message: string }>([
  { why: 'nothing holds it up', more: {}, reason: 'Paced', message: '' },
  {
    why: 'one pod has no node',
    more: { holds: [pods('a/b')] },
    reason: 'PodsWithoutNode',
    message: '; held up: 1 pod that came since has no node to run on (a/b)',
  },
  {
    why: 'many have none',
    more: { holds: [pods('a/b', 'a/c', 'a/d', 'a/e')] },
    reason: 'PodsWithoutNode',
    message: '; held up: 4 pods that came since have no node to run on (a/b, a/c, and 2 more)',
  },
  {
    why: 'zones are not ready, one of them without a name',
    more: { holds: [zone('eu-1'), zone('')] },
    reason: 'ZoneNotReady',
    message: '; held up: 6 of 10 nodes in zone eu-1 are not ready, 6 of 10 nodes are not ready',
  },
  {
    why: 'pods are not to be seen',
    more: { podsHidden: 'no right' },
    reason: 'Paced',
    message: '; pods that find no node are not waited for: no right',
  },
])('the condition says what nodes wait for: $why', ({ more, reason, message }) => {
  const start = '3 nodes still to get a taint that evicts pods; one node in 10 s in each zone at the most';
  expect(evictionState({ ...waiting, ...more })).toEqual({ status: 'True', reason, message: start + message });
});
