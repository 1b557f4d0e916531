import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { run } from './cli/run-command.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const GUIDE = readFileSync(join(ROOT, 'docs', 'talos.md'), 'utf8');
const RUN = '$ taintkeeper ';

const blocks = [...GUIDE.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);

// The other commands need a node or files of the reader.
const commands = blocks.filter((block) => block.startsWith(RUN) && block.includes(' examples/'));

it('the Talos guide shows commands that read the examples', () => {
  expect(commands).not.toEqual([]);
});

it.each(commands.map((block) => block.split('\n')))('the Talos guide: %s', async (command, ...output) => {
  // Tests run in the repository's root, as the guide's commands do.
  const { stdout, stderr } = await run(...command.slice(RUN.length).split(' '));
  expect(stdout + stderr).toBe(output.join('\n'));
});

it("the Talos guide's patch is the example", () => {
  const [, patch = ''] = /```yaml\n([\s\S]*?)```/.exec(GUIDE) ?? [];
  expect(readFileSync(join(ROOT, 'examples', 'talos', 'gpu-registration.yaml'), 'utf8')).toBe(patch);
});
