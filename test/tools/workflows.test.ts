import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { actionlintPath, obstacleToActionlint } from '../control-plane/actionlint.ts';
import { runTool } from '../control-plane/run-tool.ts';
import { skipFor } from '../skip-for.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const FOLDER = join(ROOT, '.github', 'workflows');
const FILES = readdirSync(FOLDER).map((file) => join(FOLDER, file));

interface Job {
  readonly 'runs-on': string;
  readonly 'timeout-minutes': unknown;
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
}
interface Workflow {
  readonly permissions: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
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

it.each([...FILES, join(ROOT, 'action.yml')])(
  '%s names every action of others by its digest, with the version beside it',
  (file) => {
    const used = [...readFileSync(file, 'utf8').matchAll(/uses: (.*)/g)].map(([, action]) => action);
    expect(used).not.toEqual([]);
    for (const action of used) expect(action).toMatch(/^(\.\/|[\w-]+\/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/);
  },
);

describe.each(FILES.map((file) => [file.slice(FOLDER.length + 1), file]))('%s', (_name, file) => {
  const text = readFileSync(file, 'utf8');
  const { permissions, jobs } = parse(text) as Workflow;

  it('may read, and no more, where a job does not say so', () => {
    expect(permissions).toEqual({ contents: 'read' });
  });

  it('ends in time, and runs scripts that there are', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
    for (const job of Object.values(jobs)) expect(job['timeout-minutes']).toBeDefined();
    for (const [, script] of text.matchAll(/npm run ([\w:-]+)/g)) expect(Object.keys(scripts)).toContain(script);
  });
});
