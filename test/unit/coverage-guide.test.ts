import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');
const GUIDE = readFileSync(join(ROOT, 'docs', 'coverage.md'), 'utf8');
const BLOCKS = [...GUIDE.matchAll(/^```console\n\$ npx taintkeeper (.*)\n([\s\S]*?)^```$/gm)].map(
  ([, command = '', output = '']) => ({ command, output }),
);

it('the guide shows commands', () => {
  expect(BLOCKS.length).toBeGreaterThan(3);
});

it.each(BLOCKS)('taintkeeper $command prints what the guide says', async ({ command, output }) => {
  const args = command.split(' ').map((word) => word.replaceAll("'", ''));
  const program = join(ROOT, 'bin', 'taintkeeper.js');
  // Code 1 means gaps.
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], { cwd: ROOT }).catch(
    (error: { code: number; stdout: string }) => error,
  );
  expect(stdout).toBe(output);
});
