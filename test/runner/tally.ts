import { isExpected } from './expected-skips.ts';

/** What has become of the tests of a run, as far as its last lines say it. */
export interface Tally {
  readonly passed: number;
  /** Includes tests that did not end, files that could not be loaded and errors outside of tests. */
  readonly failures: readonly Failure[];
  readonly skipped: readonly Skipped[];
}

export interface Failure {
  /** The file, and the titles of the test or of the `describe` whose hook failed. */
  readonly where: string;
  readonly error: string;
}

/** A test that did not run. */
export interface Skipped {
  /** With the titles around it. */
  readonly name: string;
  /** As it is called from the project's root. */
  readonly file: string;
  /** Whether nothing at all ran of that file. */
  readonly wholeFile: boolean;
  readonly obstacle: string;
}

export const NOTHING: Tally = { passed: 0, failures: [], skipped: [] };

/** Two runs as one. */
export function addTallies(one: Tally, other: Tally): Tally {
  return {
    passed: one.passed + other.passed,
    failures: [...one.failures, ...other.failures],
    skipped: [...one.skipped, ...other.skipped],
  };
}

/** The tests that did not run, by why: for each obstacle the files of which nothing ran, and the tests of other files. */
export function byObstacle(skipped: readonly Skipped[]): Map<string, { files: string[]; tests: string[] }> {
  const groups = new Map<string, { files: string[]; tests: string[] }>();
  for (const { name, file, wholeFile, obstacle } of skipped) {
    const group = groups.get(obstacle) ?? { files: [], tests: [] };
    groups.set(obstacle, group);
    if (!wholeFile) group.tests.push(`${file} > ${name}`);
    else if (!group.files.includes(file)) group.files.push(file);
  }
  return groups;
}

/** Enough for an assertion and the values that it compared. */
const ERROR_LINES = 5;

/** The failed tests, for the end of the output: the output of CI may keep nothing else. Empty if none failed. */
export function failureList(failures: readonly Failure[]): string {
  if (failures.length === 0) return '';
  const entries = failures.map(({ where, error }) => {
    const lines = error.split('\n').filter((line) => line.trim() !== '');
    return [`  ${where}`, ...lines.slice(0, ERROR_LINES).map((line) => `    ${line}`)].join('\n');
  });
  return `\nfailed:\n${entries.join('\n')}\n`;
}

/**
 * The last line: `120 passed, 0 failed; not run: 12 files (etcd 3.6.8: …), 2 tests (there is no fish)`.
 * @param elsewhere what the run was not meant to have
 */
export function closingLine({ passed, failures, skipped }: Tally, elsewhere?: string): string {
  // What is so everywhere comes last.
  const groups = [...byObstacle(skipped)].sort(([one], [other]) => Number(isExpected(one)) - Number(isExpected(other)));
  const parts = groups.map(([obstacle, { files, tests }]) => {
    const counts = [count(files.length, 'file'), count(tests.length, 'test')].filter((text) => text !== '');
    return `${counts.join(' and ')} (${obstacle})`;
  });
  const notRun = parts.length > 0 ? `; not run: ${parts.join(', ')}` : '';
  return `${passed} passed, ${failures.length} failed${notRun}${elsewhere ? ` (${elsewhere})` : ''}`;
}

function count(number: number, what: string): string {
  return number === 0 ? '' : `${number} ${what}${number === 1 ? '' : 's'}`;
}
