import { expect, it } from 'vitest';
import { missingPods, type Placement } from '../../../src/scheduling/placement.ts';

it('names the nodes without a scheduled pod, in their order, and why', () => {
  const placement: Placement = new Map([
    ['there', { state: 'scheduled' }],
    ['full', { state: 'pending', why: 'Insufficient cpu' }],
    ['elsewhere', { state: 'failed', why: 'Evicted' }],
  ]);
  expect(missingPods(placement, ['none', 'there', 'full'])).toEqual([
    { node: 'none', why: 'it has no pod' },
    { node: 'full', why: 'Insufficient cpu' },
  ]);
});
