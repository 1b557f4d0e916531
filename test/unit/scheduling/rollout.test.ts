import { expect, it } from 'vitest';
import { isHealthy, isRolledOut, isRollingOut, type Rollout } from '../../../src/scheduling/rollout.ts';

const DONE = { observedGeneration: 2, desired: 5, current: 5, updated: 5, unavailable: 0 };

it.each<{
  why: string;
  status?: Partial<Rollout['status']>;
  onDelete?: boolean;
  unready?: number;
  rolledOut: boolean;
  healthy: boolean;
  /** `!rolledOut`, if it is not said. */
  rollingOut?: boolean;
}>([
  { why: 'all pods updated and available', rolledOut: true, healthy: true },
  {
    why: 'the controller has not seen the change yet',
    status: { observedGeneration: 1 },
    rolledOut: false,
    healthy: false,
  },
  { why: 'one pod is old', status: { updated: 4 }, rolledOut: false, healthy: false },
  { why: 'one pod is unavailable', status: { unavailable: 1 }, rolledOut: true, healthy: false },
  {
    why: 'the old one is on a dead node',
    status: { updated: 4, unavailable: 1 },
    unready: 1,
    rolledOut: true,
    healthy: true,
  },
  { why: 'two are old, and one node is dead', status: { updated: 3 }, unready: 1, rolledOut: false, healthy: false },
  { why: 'OnDelete: old pods stay', status: { updated: 0 }, onDelete: true, rolledOut: true, healthy: true },
  { why: 'OnDelete: one is unavailable', status: { unavailable: 1 }, onDelete: true, rolledOut: true, healthy: false },
  {
    why: 'OnDelete: the controller has not seen the change yet',
    status: { observedGeneration: 1 },
    onDelete: true,
    rolledOut: false,
    healthy: false,
    rollingOut: false,
  },
  {
    why: 'a node has no pod, because none can be created',
    status: { current: 4, updated: 4, unavailable: 1 },
    rolledOut: false,
    healthy: false,
    rollingOut: false,
  },
  { why: 'no node requires it', status: { desired: 0, current: 0, updated: 0 }, rolledOut: true, healthy: true },
  { why: 'pods that are to go still count as updated', status: { desired: 4 }, rolledOut: true, healthy: true },
])('$why', ({ status = {}, onDelete = false, unready = 0, rolledOut, healthy, rollingOut = !rolledOut }) => {
  const rollout = { generation: 2, onDelete, status: { ...DONE, ...status } };
  expect(isRolledOut(rollout, unready)).toBe(rolledOut);
  expect(isHealthy(rollout, unready)).toBe(healthy);
  expect(isRollingOut(rollout, () => unready)).toBe(rollingOut);
});
