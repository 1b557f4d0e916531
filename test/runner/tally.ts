import { isExpected } from './expected-skips.ts';

/** What has become of the tests of a run, as far as its last lines say it. */
export interface Tally {
  readonly passed: number;
  /** Those that did not end count as failed, and so do files that could not be loaded and errors outside of tests. */
  readonly failed: number;
  readonly skipped: readonly Skipped[];
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

export const NOTHING: Tally = { passed: 0, failed: 0, skipped: [] };

/** Two runs as one. */
export function addTallies(one: Tally, other: Tally): Tally {
  return {
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
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

/**
 * The last line: `120 passed, 0 failed; not run: 12 files (etcd 3.6.8: …), 2 tests (there is no fish)`.
 * @param elsewhere what the run was not meant to have
 */
export function closingLine({ passed, failed, skipped }: Tally, elsewhere?: string): string {
  // What is so everywhere comes last.
  const groups = [...byObstacle(skipped)].sort(([one], [other]) => Number(isExpected(one)) - Number(isExpected(other)));
  const parts = groups.map(([obstacle, { files, tests }]) => {
    const counts = [count(files.length, 'file'), count(tests.length, 'test')].filter((text) => text !== '');
    return `${counts.join(' and ')} (${obstacle})`;
  });
  const notRun = parts.length > 0 ? `; not run: ${parts.join(', ')}` : '';
  return `${passed} passed, ${failed} failed${notRun}${elsewhere ? ` (${elsewhere})` : ''}`;
}

function count(number: number, what: string): string {
  return number === 0 ? '' : `${number} ${what}${number === 1 ? '' : 's'}`;
}
