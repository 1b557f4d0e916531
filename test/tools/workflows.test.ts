import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { problemsOf, unpinnedActions } from '../../scripts/check-workflows.ts';
import { actionlintPath, obstacleToActionlint } from '../control-plane/actionlint.ts';
import { runTool } from '../control-plane/run-tool.ts';
import { skipFor } from '../skip-for.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const FILES = globSync('.github/workflows/*', { cwd: ROOT }).map((file) => join(ROOT, file));
const RELEASE = read('release.yml');
const NIGHTLY = read('nightly.yml');

function read(name: string): string {
  return readFileSync(join(ROOT, '.github', 'workflows', name), 'utf8');
}

describe('actionlint', skipFor(obstacleToActionlint()), () => {
  const lint = (...files: string[]) =>
    runTool(actionlintPath(), ['-no-color', '-oneline', ...files], { env: process.env });

  it('finds nothing in the workflows', async () => {
    const { code, stdout } = await lint(...FILES);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  });

  it('finds what is wrong', async () => {
    const file = join(temporaryDirectory(), 'broken.yml');
    writeFileSync(
      file,
      'on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - if: github.nothing\n        run: echo\n',
    );
    const { code, stdout } = await lint(file);
    expect(code).toBe(1);
    expect(stdout).toContain('"nothing" is not defined');
  });
});

describe.each(FILES.map((file) => [basename(file), file]))('%s', (_name, file) => {
  const text = readFileSync(file, 'utf8');

  it('does what it may', () => {
    expect(problemsOf(text)).toEqual([]);
  });

  it('runs scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
    for (const [, script] of text.matchAll(/npm run ([\w:-]+)/g)) expect(Object.keys(scripts)).toContain(script);
    for (const [, script = ''] of text.matchAll(/node (scripts\/\S+\.ts)/g)) readFileSync(join(ROOT, script));
  });
});

it('action.yml names every action by its digest', () => {
  expect(unpinnedActions(readFileSync(join(ROOT, 'action.yml'), 'utf8'))).toEqual([]);
});

/** A fault, planted into a workflow, and what is said of it. */
interface Fault {
  readonly fault: string;
  readonly in: string;
  readonly at: string | RegExp;
  readonly becomes: string;
  readonly problem: string;
}

const UPLOAD_PATH = '          path: ${{ runner.temp }}/release\n          if-no-files-found';
const DRY_RUN = '      - run: node scripts/release/publish.ts --dry-run "$RUNNER_TEMP/release"\n';
const DOWNLOAD = '      - uses: actions/download-artifact@';
const BUILD_STEP = '      - id: build\n';

const FAULTS: readonly Fault[] = [
  {
    fault: '1: more than the checked folder is uploaded',
    in: RELEASE,
    at: UPLOAD_PATH,
    becomes:
      '          path: |\n            ${{ runner.temp }}/release\n            /tmp/*.tar\n          if-no-files-found',
    problem: 'job build: actions/upload-artifact: must have name: release and path: ${{ runner.temp }}/release',
  },
  {
    fault: '1: a file is added in the job that publishes',
    in: RELEASE,
    at: DRY_RUN,
    becomes: `      - run: cp image.tar "$RUNNER_TEMP/release"\n${DRY_RUN}`,
    problem: 'job publish: run is not a script of a release: cp image.tar "$RUNNER_TEMP/release"',
  },
  {
    fault: '1: the job that publishes takes any manifest',
    in: RELEASE,
    at: '      RELEASE_DIGEST: ${{ needs.build.outputs.digest }}\n',
    becomes: '',
    problem: 'job publish: RELEASE_DIGEST is not ${{ needs.build.outputs.digest }}',
  },
  {
    fault: "2: the image's tag is that of Git",
    in: RELEASE,
    at: 'IMAGE_REPOSITORY: ${{ vars.IMAGE_REPOSITORY }}\n      CHART',
    becomes: 'IMAGE: ${{ vars.IMAGE_REPOSITORY }}:${{ github.ref_name }}\n      CHART',
    problem: 'job publish: github.ref_name is not the tag of an image or a chart',
  },
  {
    fault: '3: it publishes what was not tested',
    in: RELEASE,
    at: 'needs: [verify, build]',
    becomes: 'needs: [build]',
    problem: 'job publish: it does not need verify',
  },
  {
    fault: '3: nothing is tested',
    in: RELEASE,
    at: 'bash .ci/run',
    becomes: 'node scripts/release/build.ts "$RUNNER_TEMP/release"',
    problem: 'job publish: no job before it runs .ci/run',
  },
  {
    fault: '3: the job that builds cannot see whether the commit is on main',
    in: RELEASE,
    at: '          fetch-depth: 0\n',
    becomes: '',
    problem: 'job build: build.ts needs the history of main: actions/checkout must have fetch-depth: 0',
  },
  {
    fault: '3: it signs what it has not checked',
    in: RELEASE,
    at: DRY_RUN,
    becomes: '',
    problem:
      'job publish: the first thing to be signed comes before node scripts/release/publish.ts --dry-run "$RUNNER_TEMP/release"',
  },
  {
    fault: '3: the job that builds pushes',
    in: RELEASE,
    at: BUILD_STEP,
    becomes: `      - run: docker push "$IMAGE"\n${BUILD_STEP}`,
    problem: 'job build: run is not a script of a release: docker push "$IMAGE"',
  },
  {
    fault: '5: packages are installed in the job that publishes',
    in: RELEASE,
    at: DOWNLOAD,
    becomes: `      - run: npm ci\n${DOWNLOAD}`,
    problem: 'job publish: run is not a script of a release: npm ci',
  },
  {
    fault: '5: install scripts run in the job that builds',
    in: RELEASE,
    at: 'npm ci --ignore-scripts',
    becomes: 'npm ci',
    problem: 'job build: run is not a script of a release: npm ci',
  },
  {
    fault: '5: what is signed is built from a cache that other workflows write',
    in: RELEASE,
    at: BUILD_STEP,
    becomes: `      - uses: actions/cache@0400d5f644dc74513175e3cd8d07132dd4860809 # v4.2.4\n${BUILD_STEP}`,
    problem: 'job build: actions/cache is not allowed here',
  },
  {
    fault: '5: a helper uses an image that is not pinned',
    in: RELEASE,
    at: BUILD_STEP,
    becomes: `      - uses: docker/setup-qemu-action@29109295f81e9208d7d86ff1c6c12d2833863392 # v3.6.0\n${BUILD_STEP}`,
    problem: 'job build: docker/setup-qemu-action is not allowed here',
  },
  {
    fault: '5: an action by its tag',
    in: RELEASE,
    at: /actions\/download-artifact@\S+ # \S+/,
    becomes: 'actions/download-artifact@v4',
    problem: 'uses: actions/download-artifact@v4: name it by its digest, with the version as a comment',
  },
  {
    fault: '5: the job that builds may write as well',
    in: RELEASE,
    at: '    outputs:\n',
    becomes: '    permissions:\n      packages: write\n    outputs:\n',
    problem: 'job publish: another job may write, too',
  },
  {
    fault: '5: all jobs may write',
    in: RELEASE,
    at: 'permissions:\n  contents: read\n',
    becomes: 'permissions: write-all\n',
    problem: 'permissions: the workflow must have contents: read and nothing else',
  },
  {
    fault: '5: it publishes without the approval that an environment requires',
    in: RELEASE,
    at: '    environment: release\n',
    becomes: '',
    problem: 'job publish: it has no environment',
  },
  {
    fault: '5: a job runs in an image that is not pinned',
    in: RELEASE,
    at: '    environment: release\n',
    becomes: '    environment: release\n    container: node:26\n',
    problem: 'job publish: container is not allowed',
  },
  {
    fault: '5: an expression is put into a script',
    in: RELEASE,
    at: BUILD_STEP,
    becomes: `      - run: echo \${{ github.actor }}\n${BUILD_STEP}`,
    problem: 'job build: run has an expression: echo ${{ github.actor }}',
  },
  {
    fault: '5: a job outside of a release may publish',
    in: NIGHTLY,
    at: '    name: ${{ matrix.name }}\n',
    becomes: '    name: ${{ matrix.name }}\n    permissions:\n      packages: write\n',
    problem: 'job nightly: permissions: packages: write is for the job that publishes a release',
  },
  {
    fault: '6: a job without an end',
    in: RELEASE,
    at: '    timeout-minutes: 30\n',
    becomes: '',
    problem: 'job publish: timeout-minutes is missing',
  },
];

it.each(FAULTS)('a workflow with the fault $fault', ({ in: workflow, at, becomes, problem }) => {
  const broken = workflow.replace(at, () => becomes);
  expect(broken).not.toBe(workflow);
  expect(problemsOf(broken)).toContain(problem);
});
