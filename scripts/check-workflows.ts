import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/*
 * Checks .github/workflows and action.yml, as part of `npm run lint`: what others wrote is named by its digest, a job that may write does
 * nothing but publish what a job without rights has built, and a release runs the scripts that `npm run release:dry` runs.
 */

const ROOT = join(import.meta.dirname, '..');

/** The actions that a job of a release may use, besides what its kind allows. */
const CHECKOUT = 'actions/checkout';
const EVERY_JOB = [CHECKOUT, 'actions/setup-node'];
/** No cache: other workflows write it, and what is signed would come from there. */
const BUILDING = [...EVERY_JOB, 'actions/setup-go', 'actions/upload-artifact'];
const PUBLISHING = [
  ...EVERY_JOB,
  'actions/download-artifact',
  'actions/attest-build-provenance',
  'sigstore/cosign-installer',
];

/** As root, with the runner's programs: sudo resets the PATH even if it is told to preserve it. */
const AS_ROOT = 'sudo --preserve-env env "PATH=\\$PATH" "HOME=\\$HOME" ';
const BUILD = new RegExp(
  `^(npm ci --ignore-scripts|${AS_ROOT}bash \\.ci/run|${AS_ROOT}node scripts/release/build\\.ts "\\$RUNNER_TEMP/release")$`,
);
const DRY_RUN = 'node scripts/release/publish.ts --dry-run "$RUNNER_TEMP/release"';
const PUBLISH = 'node scripts/release/publish.ts "$RUNNER_TEMP/release"';
const ARTIFACT = '${{ runner.temp }}/release';
const BUILT_DIGEST = '${{ needs.build.outputs.digest }}';

type Permissions = Readonly<Record<string, string>> | string;

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

interface Job {
  readonly needs?: string | readonly string[];
  readonly permissions?: Permissions;
  readonly environment?: unknown;
  readonly container?: unknown;
  readonly services?: unknown;
  readonly uses?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly 'timeout-minutes'?: unknown;
  readonly steps?: readonly Step[];
}

interface Workflow {
  readonly on: unknown;
  readonly permissions?: Permissions;
  readonly jobs: Readonly<Record<string, Job>>;
}

/** What is wrong with a workflow, a line for each. */
export function problemsOf(text: string): string[] {
  const { on, permissions, jobs } = parse(text) as Workflow;
  const release = JSON.stringify(on).includes('"tags"');
  const problems = unpinnedActions(text);
  if (JSON.stringify(permissions) !== '{"contents":"read"}') {
    problems.push('permissions: the workflow must have contents: read and nothing else');
  }
  for (const [name, job] of Object.entries(jobs)) {
    const ofJob = [...problemsOfAnyJob(job), ...(release ? problemsOfReleaseJob(job, jobs) : problemsOfOtherJob(job))];
    problems.push(...ofJob.map((problem) => `job ${name}: ${problem}`));
  }
  if (release && !Object.values(jobs).some(mayWrite)) problems.push('no job publishes');
  return problems;
}

/** Actions of others that are not named by their digest, with the version beside it. */
export function unpinnedActions(text: string): string[] {
  return [...text.matchAll(/\buses: (.*)/g)]
    .map(([, action = '']) => action)
    .filter((action) => !/^(\.\/|[\w-]+\/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/.test(action))
    .map((action) => `uses: ${action}: name it by its digest, with the version as a comment`);
}

function problemsOfAnyJob(job: Job): string[] {
  return [
    ...(job['timeout-minutes'] === undefined ? ['timeout-minutes is missing'] : []),
    ...(['container', 'services', 'uses'] as const).filter((key) => job[key]).map((key) => `${key} is not allowed`),
    ...stepsOf(job).flatMap(({ run = '' }) =>
      /\$\{\{(?! matrix\.)/.test(run) ? [`run has an expression: ${run}`] : [],
    ),
  ];
}

/** Only results of scans are written outside of a release. */
function problemsOfOtherJob({ permissions = {} }: Job): string[] {
  if (typeof permissions === 'string') return [`permissions: ${permissions}`];
  return Object.entries(permissions)
    .filter(([scope, access]) => access === 'write' && scope !== 'security-events')
    .map(([scope]) => `permissions: ${scope}: write is for the job that publishes a release`);
}

function problemsOfReleaseJob(job: Job, jobs: Readonly<Record<string, Job>>): string[] {
  const writes = mayWrite(job);
  const problems: string[] = [];
  for (const { uses, run, with: inputs } of stepsOf(job)) {
    const action = uses?.split('@')[0] ?? '';
    if (uses && !(writes ? PUBLISHING : BUILDING).includes(action)) problems.push(`${action} is not allowed here`);
    if (run !== undefined && !(writes ? [DRY_RUN, PUBLISH].includes(run) : BUILD.test(run))) {
      problems.push(`run is not a script of a release: ${run}`);
    }
    if (action.endsWith('load-artifact') && (inputs?.path !== ARTIFACT || inputs?.name !== 'release')) {
      problems.push(`${action}: must have name: release and path: ${ARTIFACT}`);
    }
  }
  if (stepsOf(job).some(({ run = '' }) => run.includes('scripts/release/build.ts'))) {
    const seesMain = stepsOf(job).some((step) => step.uses?.startsWith(CHECKOUT) && step.with?.['fetch-depth'] === 0);
    if (!seesMain) problems.push('build.ts needs the history of main: actions/checkout must have fetch-depth: 0');
  }
  // The scripts take the tags of image and chart from package.json, which has no v.
  if (JSON.stringify(job).includes('ref_name')) problems.push('github.ref_name is not the tag of an image or a chart');
  return writes ? [...problems, ...problemsOfOrder(job, jobs)] : problems;
}

/** Everything is built and verified before anything is signed. */
function problemsOfOrder(job: Job, jobs: Readonly<Record<string, Job>>): string[] {
  const problems: string[] = [];
  const others = Object.entries(jobs).filter(([, other]) => other !== job);
  const needed = [job.needs ?? []].flat();
  const missing = others.map(([name]) => name).filter((name) => !needed.includes(name));
  if (missing.length > 0) problems.push(`it does not need ${missing.join(', ')}`);
  const runs = others.flatMap(([, other]) => stepsOf(other).map(({ run = '' }) => run));
  for (const script of ['.ci/run', 'scripts/release/build.ts']) {
    if (!runs.some((run) => run.includes(script))) problems.push(`no job before it runs ${script}`);
  }
  if (others.some(([, other]) => mayWrite(other))) problems.push('another job may write, too');
  if (!job.environment) problems.push('it has no environment');
  if (job.env?.RELEASE_DIGEST !== BUILT_DIGEST) problems.push(`RELEASE_DIGEST is not ${BUILT_DIGEST}`);
  const steps = stepsOf(job);
  const checked = steps.findIndex(({ run }) => run === DRY_RUN);
  const signed = steps.findIndex(({ uses, run }) => uses?.startsWith('actions/attest') || run === PUBLISH);
  if (checked === -1 || signed < checked) problems.push(`the first thing to be signed comes before ${DRY_RUN}`);
  if (steps.at(-1)?.run !== PUBLISH) problems.push(`its last step is not ${PUBLISH}`);
  return problems;
}

function mayWrite({ permissions = {} }: Job): boolean {
  return typeof permissions === 'string' ? permissions !== 'read-all' : Object.values(permissions).includes('write');
}

function stepsOf({ steps = [] }: Job): readonly Step[] {
  return steps;
}

if (import.meta.main) {
  const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
  const workflows = globSync('.github/workflows/*', { cwd: ROOT });
  const problems = [
    ...workflows.flatMap((file) => problemsOf(read(file)).map((problem) => `${file}: ${problem}`)),
    ...unpinnedActions(read('action.yml')).map((problem) => `action.yml: ${problem}`),
  ];
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
