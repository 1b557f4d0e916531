import { expect, it } from 'vitest';
import { countReasons, countVerdicts, IN_A_ROW, recoveredAfterMs, type Sample } from '../../faults/tally.ts';
import type { Verdict } from '../../faults/verdict.ts';

/** Requests that are sent 50 ms apart and answered after 10. */
const samples = (...verdicts: Verdict[]): Sample[] =>
  verdicts.map((verdict, index) => ({ kind: 'label', verdict, sentAt: index * 50, endedAt: index * 50 + 10 }));
const right = (count: number) => Array<Verdict>(count).fill('admitted');

it.each([
  { what: 'at once, when nothing fails', verdicts: right(IN_A_ROW), since: 0, after: 10 },
  { what: 'not before the last failure', verdicts: [...right(3), 'failed', ...right(IN_A_ROW)], since: 0, after: 210 },
  { what: 'not with too few in a row', verdicts: ['failed', ...right(IN_A_ROW - 1)], since: 0, after: undefined },
  { what: 'whatever was before', verdicts: ['wrong', 'missed', ...right(IN_A_ROW)], since: 100, after: 10 },
  { what: 'refusals are right', verdicts: Array<Verdict>(IN_A_ROW).fill('refused'), since: 0, after: 10 },
] as const)('recovered: $what', ({ verdicts, since, after }) => {
  expect(recoveredAfterMs(samples(...verdicts), since)).toBe(after);
});

it('counts verdicts and reasons', () => {
  const failed = { verdict: 'failed' } as const;
  const judged = [{ ...failed, why: 'a' }, { ...failed, why: 'b' }, { ...failed, why: 'b' }, ...samples('admitted')];
  expect(countVerdicts(judged)).toEqual({ admitted: 1, refused: 0, missed: 0, failed: 3, wrong: 0 });
  expect(countReasons(judged)).toEqual([
    ['b', 2],
    ['a', 1],
  ]);
});
