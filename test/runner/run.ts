import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { type CliOptions, parseCLI, startVitest } from 'vitest/node';
import { PROGRAM_VARIABLE } from '../control-plane/program.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { seedEnvironment } from '../seed.ts';
import { isExpected } from './expected-skips.ts';
import NotRunReporter from './not-run-reporter.ts';
import { provide } from './provide.ts';
import { contentsOf, needsOf, type Part, partsOf, TIERS, type Tier } from './suites.ts';
import { addTallies, byObstacle, closingLine, failureList, NOTHING, type Tally } from './tally.ts';

/**
 * Runs the tests of a tier: first those that need only Node.js, then, once what they need is built or installed, the others. A thing
 * that cannot be built does not stop the rest; the last line says which tests did not run, and why. With CI=true that is a failure,
 * except for expected-skips.ts.
 *
 *     npm test [-- FILE ... | any option of `vitest run`]     with FILE: these files, whatever tier they are of
 *     npm run test:all                                        everything that runs before each merge
 *     npm run test:rest                                       the same without what `npm test` has
 *     npm run test:nightly                                    what is too slow for that
 *     npm run test:changed                                    of test:all, what imports a changed file
 */

/** On one older version all tests run. Random cases are new and many. What somebody has set stays. */
const NIGHTLY_ENVIRONMENT = {
  TAINTKEEPER_TEST_ALL: '1.34',
  TAINTKEEPER_SEED: 'random',
  TAINTKEEPER_POLICY_SETS: '60',
  TAINTKEEPER_KILLS: '200',
};

const say = (line: string) => process.stdout.write(`${line}\n`);

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

async function main(args: string[]): Promise<number> {
  const tier = TIERS.find((one) => args.includes(`--${one}`)) ?? 'core';
  const { filter, options } = parseCLI(['vitest', 'run', ...args.filter((arg) => arg !== `--${tier}`)]);
  if (tier === 'nightly') Object.assign(process.env, { ...NIGHTLY_ENVIRONMENT, ...process.env });
  // One for all parts.
  Object.assign(process.env, seedEnvironment());
  const { alone, others } = partsOf(tier, filter, options.project);
  let tally = alone ? await run(alone, options) : NOTHING;
  if (others.length > 0) {
    await provide(say, needsOf(tier, filter, options.project));
    process.env[PROGRAM_VARIABLE] ??= buildBundle();
  }
  for (const part of others) tally = addTallies(tally, await run(part, options));
  if (tally.passed + tally.failures.length + tally.skipped.length === 0 && !options.changed)
    throw new Error('no test file matches these names');
  return conclude(tally, filter.length > 0 || options.project ? undefined : tier);
}

async function run({ projects, files = [], exclude = [] }: Part, options: CliOptions): Promise<Tally> {
  const reporter = new NotRunReporter({ isPart: true });
  const { reporter: asked = [], ...others } = options as CliOptions & { reporter?: string | string[] };
  const reporters = [asked].flat();
  const vitest = await startVitest('test', [...files], {
    ...others,
    watch: false,
    // With --changed, all files may be of the other part.
    passWithNoTests: true,
    project: [projects].flat(),
    // As `--exclude` comes to projects: vitest's `exclude` would be the root's alone.
    cliExclude: [...exclude, ...(options.exclude ?? [])],
    reporters: [...(reporters.length > 0 ? reporters : ['default']), reporter],
  });
  await vitest.close();
  return reporter.tally;
}

/**
 * The program as it is shipped, and its path: it starts in half the time that the source takes. In a folder of this run, as `dist` may be
 * built anew at any time.
 */
function buildBundle(): string {
  const folder = createWorkspace('bundle').path('dist');
  execFileSync('npx', ['--no-install', 'rolldown', '--config', 'rolldown.config.ts', '--dir', folder], {
    cwd: join(import.meta.dirname, '..', '..'),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return join(folder, 'taintkeeper.cjs');
}

/** Prints the failed tests and the last line. Gives the exit code. */
function conclude(tally: Tally, tier: Tier | undefined): number {
  const unexpected = tally.skipped.filter(({ obstacle }) => !isExpected(obstacle));
  const failsFor = process.env.CI === 'true' ? [...byObstacle(unexpected).keys()] : [];
  for (const obstacle of failsFor) {
    process.stderr.write(
      `error: with CI=true this skip is not allowed (see test/runner/expected-skips.ts): ${obstacle}\n`,
    );
  }
  say(`${failureList(tally.failures)}\n${closingLine(tally, tier && contentsOf(tier))}`);
  // Vitest has set it for whatever it takes for a failure.
  return process.exitCode || tally.failures.length > 0 || failsFor.length > 0 ? 1 : 0;
}
