import { expect, it } from 'vitest';
import { isExpected } from '../../runner/expected-skips.ts';
import { addTallies, closingLine, failureList, NOTHING, type Skipped } from '../../runner/tally.ts';

const skipped = (file: string, name: string, obstacle: string, wholeFile = false): Skipped => ({
  file,
  name,
  obstacle,
  wholeFile,
});

it.each([
  { why: 'nothing ran', tally: NOTHING, is: '0 passed, 0 failed' },
  {
    why: 'all ran',
    tally: { passed: 120, failures: [{ where: 'a', error: 'e' }], skipped: [] },
    is: '120 passed, 1 failed',
  },
  {
    why: 'a file counts once, however many tests it has; each obstacle is named once, and what is so everywhere last',
    tally: {
      passed: 3,
      failures: [],
      skipped: [
        skipped('e.test.ts', 'one', 'TAINTKEEPER_SCREENSHOTS is not set', true),
        skipped('a.test.ts', 'one', 'etcd 3.6.8: not served', true),
        skipped('a.test.ts', 'two', 'etcd 3.6.8: not served', true),
        skipped('b.test.ts', 'one', 'etcd 3.6.8: not served', true),
        skipped('c.test.ts', 'one', 'there is no fish'),
        skipped('c.test.ts', 'two', 'there is no fish'),
        skipped('d.test.ts', 'one', 'etcd 3.6.8: not served'),
      ],
    },
    is: '3 passed, 0 failed; not run: 2 files and 1 test (etcd 3.6.8: not served), 2 tests (there is no fish), 1 file (TAINTKEEPER_SCREENSHOTS is not set)',
  },
])('the last line, where $why', ({ tally, is }) => {
  expect(closingLine(tally)).toBe(is);
});

it('two runs are counted as one', () => {
  const one = { passed: 1, failures: [{ where: 'a', error: 'e' }], skipped: [skipped('a', 'x', 'o')] };
  const other = { passed: 10, failures: [{ where: 'b', error: 'f' }], skipped: [skipped('b', 'y', 'o')] };
  expect(addTallies(one, other)).toEqual({
    passed: 11,
    failures: [...one.failures, ...other.failures],
    skipped: [...one.skipped, ...other.skipped],
  });
});

it.each([
  { obstacle: 'there are no fixtures in ../shared', expected: true },
  { obstacle: 'kube-scheduler 1.36.1 must not be newer than the API server', expected: true },
  {
    obstacle: 'etcd 3.6.8: go.etcd.io/etcd/server/v3@v3.6.8 is not served by the module proxy (403 Forbidden)',
    expected: false,
  },
  { obstacle: 'KUBEBUILDER_ASSETS has no kube-scheduler', expected: false },
  { obstacle: 'there is no fish', expected: false },
  { obstacle: 'no reason is given', expected: false },
])('$obstacle: CI does without it? $expected', ({ obstacle, expected }) => {
  expect(isExpected(obstacle)).toBe(expected);
});

it('of each failed test, the list has the name and the first lines of the error', () => {
  const error = ['Error: timed out', '', 'one', 'two', 'three', 'four', 'five'].join('\n');
  expect(failureList([{ where: 'a.test.ts > x', error }])).toBe(
    '\nfailed:\n  a.test.ts > x\n    Error: timed out\n    one\n    two\n    three\n    four\n',
  );
  expect(failureList([])).toBe('');
});
