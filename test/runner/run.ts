import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { type CliOptions, parseCLI, startVitest } from 'vitest/node';
import { askedVersion, EVERYDAY_VERSION, OTHER_VERSIONS, type OtherVersion } from '../control-plane/kubernetes.ts';
import { PROGRAM_VARIABLE } from '../control-plane/program.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { seedEnvironment } from '../seed.ts';
import { isExpected } from './expected-skips.ts';
import NotRunReporter from './not-run-reporter.ts';
import { provide } from './provide.ts';
import { asksForRealNodes, DRAWN, EVERYDAY_PROJECTS, ONLY_NIGHTLY, otherVersionOf, projectOf } from './suites.ts';
import { addTallies, byObstacle, closingLine, NOTHING, type Tally } from './tally.ts';

/**
 * All tests: first those that need nothing but Node.js, then, once what they need is built or installed, the rest. What cannot be had
 * does not stop the others; the last line says what did not run, and why. With CI=true that is a failure, but for expected-skips.ts.
 *
 *     npm test [-- FILE ... | any option of `vitest run`]
 *     npm run test:nightly                    what `npm test` leaves out: see suites.ts
 */
const NIGHTLY = '--nightly';

/** So that what is drawn is new, and much. What somebody has set stays. */
const NIGHTLY_ENVIRONMENT = {
  TAINTKEEPER_TEST_ALL: EVERYDAY_VERSION,
  TAINTKEEPER_SEED: 'random',
  TAINTKEEPER_POLICY_SETS: '60',
};

const say = (line: string) => process.stdout.write(`${line}\n`);

/** Some of the tests. */
interface Part {
  readonly projects: string | string[];
  readonly files?: readonly string[];
  readonly exclude?: readonly string[];
}

const NIGHTLY_PARTS: readonly Part[] = [
  { projects: 'e2e', files: [...ONLY_NIGHTLY, ...DRAWN] },
  { projects: 'real-node' },
  ...OTHER_VERSIONS.map((version) => ({ projects: projectOf(version) })),
];

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

async function main(args: string[]): Promise<number> {
  const nightly = args.includes(NIGHTLY);
  const { filter, options } = parseCLI(['vitest', 'run', ...args.filter((arg) => arg !== NIGHTLY)]);
  if (nightly) Object.assign(process.env, { ...NIGHTLY_ENVIRONMENT, ...process.env });
  // One for all parts.
  Object.assign(process.env, seedEnvironment());
  let tally = options.project ? NOTHING : await run({ projects: 'unit', files: filter }, options);
  await provide(say, {
    karpenter: nightly || filter.some((file) => file.includes('karpenter')),
    realNodes: nightly || asksForRealNodes(filter, options.project),
    versions: nightly ? OTHER_VERSIONS : askedVersions(options),
  });
  process.env[PROGRAM_VARIABLE] ??= buildBundle();
  for (const part of nightly ? NIGHTLY_PARTS : [mainPart(filter, options)]) {
    tally = addTallies(tally, await run(part, options));
  }
  return conclude(tally);
}

/** The versions of Kubernetes that somebody asks for, by the environment or by a project's name. */
function askedVersions({ project = [] }: CliOptions): OtherVersion[] {
  return [askedVersion(), ...[project].flat().map(otherVersionOf)].filter((version) => version !== undefined);
}

function mainPart(files: readonly string[], { project }: CliOptions): Part {
  // Who asks for a file gets it.
  return { projects: project ?? EVERYDAY_PROJECTS, files, exclude: files.length > 0 ? [] : ONLY_NIGHTLY };
}

async function run({ projects, files = [], exclude = [] }: Part, options: CliOptions): Promise<Tally> {
  const reporter = new NotRunReporter({ isPart: true });
  const { reporter: asked = [], ...others } = options as CliOptions & { reporter?: string | string[] };
  const reporters = [asked].flat();
  const vitest = await startVitest('test', [...files], {
    ...others,
    watch: false,
    // Files that are asked for by name may all be of the other part.
    passWithNoTests: true,
    project: projects,
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

/** Prints the last line. Gives the exit code. */
function conclude(tally: Tally): number {
  if (tally.passed + tally.failed + tally.skipped.length === 0) throw new Error('no test file matches these names');
  const unexpected = tally.skipped.filter(({ obstacle }) => !isExpected(obstacle));
  const failsFor = process.env.CI === 'true' ? [...byObstacle(unexpected).keys()] : [];
  for (const obstacle of failsFor) {
    process.stderr.write(
      `error: with CI=true this skip is not allowed (see test/runner/expected-skips.ts): ${obstacle}\n`,
    );
  }
  say(`\n${closingLine(tally)}`);
  // Vitest has set it for whatever it takes for a failure.
  return process.exitCode || tally.failed > 0 || failsFor.length > 0 ? 1 : 0;
}
