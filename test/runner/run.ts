import { parseCLI, startVitest } from 'vitest/node';
import { isExpected } from './expected-skips.ts';
import NotRunReporter from './not-run-reporter.ts';
import { provide } from './provide.ts';
import { addTallies, byObstacle, closingLine, NOTHING, type Tally } from './tally.ts';

/**
 * All tests: first those that need nothing but Node.js, then, once what they need is built or installed, the rest. What cannot be had
 * does not stop the others; the last line says what did not run, and why. With CI=true that is a failure, but for expected-skips.ts.
 *
 *     npm test [-- FILE ... | any option of `vitest run`]
 *     npm run test:nightly
 */
const say = (line: string) => process.stdout.write(`${line}\n`);

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

async function main(args: string[]): Promise<number> {
  const { filter, options } = parseCLI(['vitest', 'run', ...args]);
  const run = async (project: string | string[]): Promise<Tally> => {
    const reporter = new NotRunReporter();
    const vitest = await startVitest('test', filter, {
      ...options,
      watch: false,
      // Files that are asked for by name may all be of the other kind.
      passWithNoTests: true,
      project,
      reporters: [...(options.reporters ? [options.reporters].flat() : ['default']), reporter],
    });
    await vitest.close();
    return reporter.tally;
  };

  let tally = NOTHING;
  if (!options.project) tally = await run('unit');
  await provide(say);
  tally = addTallies(tally, await run(options.project ?? '!unit'));
  return conclude(tally);
}

/** Prints the last line. Gives the exit code. */
function conclude(tally: Tally): number {
  if (tally.passed + tally.failed + tally.skipped.length === 0) throw new Error('no test is called so');
  const unexpected = tally.skipped.filter(({ obstacle }) => !isExpected(obstacle));
  const failsFor = process.env.CI === 'true' ? [...byObstacle(unexpected).keys()] : [];
  for (const obstacle of failsFor) {
    process.stderr.write(
      `error: with CI=true all tests have to run, but for test/runner/expected-skips.ts: ${obstacle}\n`,
    );
  }
  say(`\n${closingLine(tally)}`);
  return tally.failed > 0 || failsFor.length > 0 ? 1 : 0;
}
