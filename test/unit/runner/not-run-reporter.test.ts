import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const VITEST = join(import.meta.dirname, '..', '..', '..', 'node_modules', 'vitest', 'vitest.mjs');
const CONFIG = join(import.meta.dirname, 'sample', 'vitest.config.ts');
const RUN_TIMEOUT_MS = 30_000;

function run(...args: string[]): { status: number | null; lines: string[] } {
  const { status, stdout } = spawnSync(process.execPath, [VITEST, 'run', '--config', CONFIG, ...args], {
    cwd: join(import.meta.dirname, 'sample'),
    encoding: 'utf8',
  });
  return { status, lines: stdout.split('\n').filter((line) => line !== '') };
}

it(
  'a hook that fails and a file that cannot be loaded are failures, and only what lacks something did not run',
  () => {
    const { status, lines } = run();
    expect(status).toBe(1);
    expect(lines).toEqual([
      'not run (there is no such thing):',
      '  all-fates.sample.ts > what lacks something > does not run',
      '  all-fates.sample.ts > what lacks something > nor does this',
      'not run (no reason is given):',
      '  all-fates.sample.ts > is skipped on purpose',
      'failed:',
      '  all-fates.sample.ts > what cannot begin',
      '    Error: on purpose',
      '  all-fates.sample.ts > what cannot end',
      '    Error: on purpose',
      '  all-fates.sample.ts > fails',
      '    AssertionError: expected 1 to be 2 // Object.is equality',
      '  cannot-be-loaded.sample.ts',
      '    Error: on purpose',
      '2 passed, 4 failed; not run: 2 tests (there is no such thing), 1 test (no reason is given)',
    ]);
  },
  RUN_TIMEOUT_MS,
);

it(
  'with -t, tests that the pattern does not select are not reported as not run',
  () => {
    const { lines } = run('-t', 'passes$|lacks something does', 'all-fates');
    expect(lines).toEqual([
      'not run (there is no such thing):',
      '  all-fates.sample.ts > what lacks something > does not run',
      '1 passed, 0 failed; not run: 1 test (there is no such thing)',
    ]);
  },
  RUN_TIMEOUT_MS,
);
