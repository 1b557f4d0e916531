import { expect, it } from 'vitest';
import { microTime } from '../../../src/kubernetes/time.ts';

it('microTime has six digits of a second, as Kubernetes writes them', () => {
  expect(microTime(Date.UTC(2026, 0, 2, 3, 4, 5, 67))).toBe('2026-01-02T03:04:05.067000Z');
});
