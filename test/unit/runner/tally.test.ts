import { expect, it } from 'vitest';
import { addTallies, closingLine, NOTHING, type Skipped } from '../../runner/tally.ts';

const skipped = (file: string, name: string, obstacle: string, wholeFile = false): Skipped => ({
  file,
  name,
  obstacle,
  wholeFile,
});

it.each([
  { why: 'nothing ran', tally: NOTHING, is: '0 passed, 0 failed' },
  { why: 'all ran', tally: { passed: 120, failed: 1, skipped: [] }, is: '120 passed, 1 failed' },
  {
    why: 'a file counts once, however many tests it has; each obstacle is named once',
    tally: {
      passed: 3,
      failed: 0,
      skipped: [
        skipped('a.test.ts', 'one', 'etcd 3.6.8: not served', true),
        skipped('a.test.ts', 'two', 'etcd 3.6.8: not served', true),
        skipped('b.test.ts', 'one', 'etcd 3.6.8: not served', true),
        skipped('c.test.ts', 'one', 'there is no fish'),
        skipped('c.test.ts', 'two', 'there is no fish'),
        skipped('d.test.ts', 'one', 'etcd 3.6.8: not served'),
      ],
    },
    is: '3 passed, 0 failed; not run: 2 files and 1 test (etcd 3.6.8: not served), 2 tests (there is no fish)',
  },
])('the last line, where $why', ({ tally, is }) => {
  expect(closingLine(tally)).toBe(is);
});

it('two runs are counted as one', () => {
  const one = { passed: 1, failed: 2, skipped: [skipped('a', 'x', 'o')] };
  const other = { passed: 10, failed: 20, skipped: [skipped('b', 'y', 'o')] };
  expect(addTallies(one, other)).toEqual({ passed: 11, failed: 22, skipped: [...one.skipped, ...other.skipped] });
});
