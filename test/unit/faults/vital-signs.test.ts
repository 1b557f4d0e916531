import { expect, it } from 'vitest';
import { slopePerHour } from '../../faults/vital-signs.ts';

const points = (...values: number[]) => values.map((value, index) => ({ atSeconds: index * 10, value }));

it.each([
  { what: 'what stays has no slope', values: [5, 5, 5], slope: 0 },
  { what: 'one more each ten seconds', values: [1, 2, 3, 4], slope: 360 },
  { what: 'what goes up and down by as much', values: [1, 2, 2, 1], slope: 0 },
  { what: 'what shrinks', values: [4, 2], slope: -720 },
  { what: 'a single point', values: [7], slope: 0 },
])('$what', ({ values, slope }) => {
  expect(slopePerHour(points(...values))).toBeCloseTo(slope);
});
