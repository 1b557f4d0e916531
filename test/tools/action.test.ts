import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { actionlintPath, obstacleToActionlint } from '../control-plane/actionlint.ts';
import { runTool } from '../control-plane/run-tool.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { skipFor } from '../skip-for.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const TEXT = readFileSync(join(ROOT, 'action.yml'), 'utf8');

interface Step {
  readonly id?: string;
  readonly if?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}
type Values = Readonly<Record<string, string>>;
const ACTION = parse(TEXT) as {
  readonly inputs: Readonly<Record<string, { readonly default: string; readonly description: string }>>;
  readonly outputs: Readonly<Record<string, { readonly value: string }>>;
  readonly runs: { readonly steps: readonly Step[] };
};

/** What `npm ci` may take on a busy machine. */
const INSTALL_TIMEOUT_MS = 120_000;

describe('the action', () => {
  /** A clone, as the runner makes one for `uses`. */
  const scratch = createWorkspace('action');
  const clone = scratch.path('clone');
  const workspace = scratch.path('workspace');

  let installation: ReturnType<typeof run>;

  beforeAll(() => {
    const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
      cwd: ROOT,
    });
    for (const file of tracked.toString().split('\0').filter(isOfProgram)) {
      mkdirSync(dirname(join(clone, file)), { recursive: true });
      cpSync(join(ROOT, file), join(clone, file));
    }
    mkdirSync(workspace);
    symlinkSync(join(ROOT, 'examples'), join(workspace, 'examples'));
    cpSync(join(ROOT, 'examples', 'policies'), join(workspace, 'policies', 'gpu'), { recursive: true });
    cpSync(join(ROOT, 'examples', 'talos', 'gpu.yaml'), join(workspace, 'machines', 'workers', 'gpu.yaml'));
    // So that no test depends on another one.
    installation = run({}, { install: true });
  }, INSTALL_TIMEOUT_MS);
  afterAll(() => scratch.remove());

  /** What there is of the project where no test runs. */
  const isOfProgram = (file: string) => /^(bin|src|scripts|manifests\/policies)\/|^package(-lock)?\.json$/.test(file);

  /** Runs the steps as a runner does: conditions, variables, outputs; actions of others are named. */
  function run(inputs: Values, { path = process.env.PATH ?? '', install = false } = {}) {
    const given = {
      ...Object.fromEntries(Object.entries(ACTION.inputs).map(([name, { default: value }]) => [name, value])),
      ...inputs,
    };
    const steps: Record<string, { outputs: Record<string, string> }> = {};
    const fill = (text: string) =>
      text.replaceAll(/\$\{\{ (inputs|steps)\.([\w.-]+) \}\}/g, (_, context, name: string) => {
        if (context === 'inputs') return given[name] ?? '';
        const [id = '', , output = ''] = name.split('.');
        return steps[id]?.outputs[output] ?? '';
      });
    const used: string[] = [];
    const log: string[] = [];
    let failed = false;
    for (const step of ACTION.runs.steps) {
      if (!holds(step.if, given, steps, failed)) continue;
      if (step.uses) used.push(step.uses);
      if (!step.run || (!install && step.run.startsWith('npm ci'))) continue;
      const output = scratch.write('output', '');
      const env = Object.fromEntries(Object.entries(step.env ?? {}).map(([name, value]) => [name, fill(value)]));
      const { status, stdout, stderr } = spawnSync(
        'bash',
        ['--noprofile', '--norc', '-eo', 'pipefail', '-c', step.run],
        {
          cwd: workspace,
          encoding: 'utf8',
          env: { ...process.env, PATH: path, GITHUB_ACTION_PATH: clone, GITHUB_OUTPUT: output, ...env },
        },
      );
      log.push(stdout, stderr);
      failed ||= status !== 0;
      const written = readFileSync(output, 'utf8').split('\n').filter(Boolean);
      if (step.id) steps[step.id] = { outputs: Object.fromEntries(written.map((line) => line.split('='))) };
    }
    const outputs = Object.fromEntries(Object.entries(ACTION.outputs).map(([name, { value }]) => [name, fill(value)]));
    return { failed, used, outputs, log: log.join('') };
  }

  it('installs what it runs, and no more, from its own lock file', () => {
    expect(installation.failed, installation.log).toBe(false);
    const packages = readdirSync(join(clone, 'node_modules'));
    expect(packages).toContain('commander');
    expect(packages).not.toContain('vitest');
  });

  it('fails where something is denied, and says where', () => {
    const { failed, log, outputs } = run({ files: 'examples/remove-control-plane-taint.json' });
    expect(log).toContain(
      '::error file=examples/remove-control-plane-taint.json,line=14,col=21,title=TaintPolicy control-plane-taints',
    );
    expect({ failed, outputs }).toMatchObject({
      failed: true,
      outputs: { 'review-errors': '1', 'review-warnings': '0' },
    });
  });

  it('judges by the policies that it is given, and what admission would change is a warning', () => {
    const { failed, log, outputs } = run({
      files: '\nexamples/mixed-control-plane/kube-*.yaml\n  examples/gpu-node.yaml\n',
      policies: 'examples/mixed-control-plane/pol*.yaml\nexamples/policies',
    });
    expect(log.match(/^::\w+ file=[^,]*/gm)).toEqual([
      '::warning file=examples/mixed-control-plane/kube-flannel.yaml',
      '::warning file=examples/gpu-node.yaml',
    ]);
    expect({ failed, outputs }).toEqual({
      failed: false,
      outputs: { 'review-errors': '0', 'review-warnings': '2', 'lint-errors': '', 'lint-warnings': '' },
    });
  });

  it('takes each file once that patterns and directories name, and no directory of which a pattern names the files', () => {
    const inputs = { files: 'examples/gpu-node.yaml', policies: 'policies/**\npolicies/gpu', talos: 'machines/**' };
    const { failed, log, outputs } = run({ ...inputs, 'talos-version': '1.13', 'fail-on': 'never' });
    expect(log).not.toContain('::error title=');
    expect({ failed, outputs }).toMatchObject({ failed: false, outputs: { 'lint-warnings': '1' } });
  });

  it('keeps the directories of a pattern that names directories alone', () => {
    const { failed, outputs } = run({ files: 'examples/gpu-node.yaml', policies: 'policies/*' });
    expect({ failed, outputs }).toMatchObject({ failed: false, outputs: { 'review-warnings': '1' } });
  });

  it('lints machine configurations, also where the review has failed', () => {
    const { failed, log, outputs } = run({
      files: 'examples/remove-control-plane-taint.json',
      talos: 'examples/talos/*.yaml',
      'talos-version': '1.13',
    });
    expect(log).toMatch(/^::error file=examples\/talos\/gpu\.yaml,line=12,col=5,title=worker-taint/m);
    expect({ failed, outputs }).toMatchObject({ failed: true, outputs: { 'review-errors': '1', 'lint-errors': '1' } });
  });

  it('fails on what `fail-on` says', () => {
    const { failed, outputs } = run({ talos: 'examples/talos/gpu.yaml', 'fail-on': 'never' });
    expect({ failed, outputs }).toMatchObject({ failed: false, outputs: { 'lint-errors': '0', 'lint-warnings': '1' } });
  });

  it('says which file is not there, and takes no file for an option', () => {
    const { failed, log } = run({ files: '--help' });
    expect(failed).toBe(true);
    expect(log).toMatch(/^::error title=taintkeeper review::taintkeeper: --help: not found$/m);
    expect(run({ talos: 'no/such/*.yaml' }).log).toContain('no/such/*.yaml: not found');
  });

  it('brings Node.js only where there is none that is new enough', () => {
    const folder = temporaryDirectory();
    writeFileSync(join(folder, 'node'), '#!/bin/sh\necho 2404\n', { mode: 0o755 });
    expect(run({}).used).toEqual([]);
    const path = `${folder}${delimiter}${process.env.PATH}`;
    expect(run({}, { path }).used).toEqual([expect.stringMatching(/^actions\/setup-node@[0-9a-f]{40}$/)]);
  });
});

/** The runner's expressions that action.yml has, which mean the same in JavaScript. */
function holds(condition: string | undefined, inputs: Values, steps: object, failed: boolean): boolean {
  const expression = condition?.replace(/^\$\{\{ (.*) \}\}$/, '$1') ?? 'true';
  const evaluate = new Function('inputs', 'steps', 'fromJSON', 'cancelled', `return ${expression}`);
  // Without a function of the job's status, it is `success() &&` that.
  if (failed && !expression.includes('cancelled()')) return false;
  return Boolean(evaluate(inputs, steps, JSON.parse, () => false));
}

describe('actionlint', skipFor(obstacleToActionlint()), () => {
  it('finds nothing in the steps, as those of a workflow', async () => {
    const inputs = Object.fromEntries(
      Object.entries(ACTION.inputs).map(([name, { default: value }]) => [name, { type: 'string', default: value }]),
    );
    const file = join(temporaryDirectory(), 'steps.yml');
    writeFileSync(
      file,
      stringify(
        {
          on: { workflow_call: { inputs } },
          jobs: { action: { 'runs-on': 'ubuntu-24.04', steps: ACTION.runs.steps } },
        },
        { lineWidth: 0 },
      ),
    );
    const { code, stdout } = await runTool(actionlintPath(), ['-no-color', '-oneline', file], { env: process.env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  });
});
