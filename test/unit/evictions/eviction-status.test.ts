import { expect, it } from 'vitest';
import { evictionState, paceOf, type Waiting } from '../../../src/evictions/eviction-pace.ts';

const waiting: Waiting = { nodes: 3, rate: 0.1, blockers: [], podsHidden: undefined };
const pods = (...names: string[]) => ({ reason: 'PodsWithoutNode', names }) as const;
const zone = (name: string) => ({ reason: 'ZoneNotReady', zone: name, nodes: 10, notReady: 6 }) as const;

it.each([
  { rate: 0.1, pace: 'at most one node in 10 s in each zone' },
  { rate: 0.03, pace: 'at most one node in 33.33 s in each zone' },
  { rate: 1, pace: 'at most one node in 1 s in each zone' },
  { rate: 2.5, pace: 'at most 2.5 nodes in 1 s in each zone' },
  { rate: 0, pace: '' },
])('a rate of $rate is said as "$pace"', ({ rate, pace }) => {
  expect(paceOf(rate)).toBe(pace);
});

it.each<{ why: string; more: Partial<Waiting>; reason: string; message: string }>([
  { why: 'nothing holds it up', more: {}, reason: 'Paced', message: '' },
  {
    why: 'one pod has no node',
    more: { blockers: [pods('a/b')] },
    reason: 'PodsWithoutNode',
    message: '; waiting: 1 pod created since is unscheduled (a/b)',
  },
  {
    why: 'many have none',
    more: { blockers: [pods('a/b', 'a/c', 'a/d', 'a/e')] },
    reason: 'PodsWithoutNode',
    message: '; waiting: 4 pods created since are unscheduled (a/b, a/c, and 2 more)',
  },
  {
    why: 'zones are not ready, one of them without a name',
    more: { blockers: [zone('eu-1'), zone('')] },
    reason: 'ZoneNotReady',
    message: '; waiting: 6 of 10 nodes in zone eu-1 are not ready, 6 of 10 nodes are not ready',
  },
  {
    why: 'pods are not to be seen',
    more: { podsHidden: 'no right' },
    reason: 'Paced',
    message: '; does not wait for unscheduled pods: no right',
  },
])('the condition says what nodes wait for: $why', ({ more, reason, message }) => {
  const start = '3 nodes waiting for a taint that evicts pods; at most one node in 10 s in each zone';
  expect(evictionState({ ...waiting, ...more })).toEqual({ status: 'True', reason, message: start + message });
});
