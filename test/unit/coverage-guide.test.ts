import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { run } from './cli/run-command.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const GUIDE = readFileSync(join(ROOT, 'docs', 'coverage.md'), 'utf8');
const BLOCKS = [...GUIDE.matchAll(/^```console\n\$ taintkeeper (.*)\n([\s\S]*?)^```$/gm)].map(
  ([, command = '', output = '']) => ({ command, output }),
);

it('the guide shows commands', () => {
  expect(BLOCKS.length).toBeGreaterThan(3);
});

it.each(BLOCKS)('taintkeeper $command prints what the guide says', async ({ command, output }) => {
  const args = command.split(' ').map((word) => word.replaceAll("'", ''));
  expect((await run(...args)).stdout).toBe(output);
});

it('the guide has each form of a remedy', async () => {
  const [, table = ''] = /^\| `--as` \|.*\n((?:\|.*\n)+)/m.exec(GUIDE) ?? [];
  const forms = [...table.matchAll(/^\| `([\w-]+)`/gm)].map(([, form]) => form);
  const { stderr } = await run('coverage', 'fix', 'examples/mixed-cluster.yaml', '--as', 'none');
  expect(stderr).toContain(`Allowed choices are ${forms.join(', ')}.`);
});
