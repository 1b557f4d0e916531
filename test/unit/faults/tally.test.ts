import { expect, it } from 'vitest';
import type { Result } from '../../faults/judged-answer.ts';
import { countReasons, countResults, IN_A_ROW, recoveredAfterMs, type Sample } from '../../faults/tally.ts';

/** Requests that are sent 50 ms apart and answered after 10. */
const samples = (...results: Result[]): Sample[] =>
  results.map((result, index) => ({ kind: 'label', result, sentAt: index * 50, endedAt: index * 50 + 10 }));
const right = (count: number) => Array<Result>(count).fill('admitted');

it.each([
  { what: 'at once, when nothing fails', results: right(IN_A_ROW), since: 0, after: 10 },
  { what: 'not before the last failure', results: [...right(3), 'failed', ...right(IN_A_ROW)], since: 0, after: 210 },
  { what: 'not with too few in a row', results: ['failed', ...right(IN_A_ROW - 1)], since: 0, after: undefined },
  { what: 'whatever was before', results: ['wrong', 'missed', ...right(IN_A_ROW)], since: 100, after: 10 },
  { what: 'refusals are right', results: Array<Result>(IN_A_ROW).fill('refused'), since: 0, after: 10 },
] as const)('recovered: $what', ({ results, since, after }) => {
  expect(recoveredAfterMs(samples(...results), since)).toBe(after);
});

it('counts results and reasons', () => {
  const failed = { result: 'failed' } as const;
  const judged = [{ ...failed, why: 'a' }, { ...failed, why: 'b' }, { ...failed, why: 'b' }, ...samples('admitted')];
  expect(countResults(judged)).toEqual({ admitted: 1, refused: 0, missed: 0, failed: 3, wrong: 0 });
  expect(countReasons(judged)).toEqual([
    ['b', 2],
    ['a', 1],
  ]);
});
