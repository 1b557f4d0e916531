import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');
const GUIDE = readFileSync(join(ROOT, 'docs', 'talos.md'), 'utf8');
const RUN = '$ npx taintkeeper ';

const blocks = [...GUIDE.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);

it.each(blocks.filter((block) => block.startsWith(RUN)).map((block) => block.split('\n')))(
  'the Talos guide: %s',
  (command, ...output) => {
    const program = [join(ROOT, 'bin', 'taintkeeper.js'), ...command.slice(RUN.length).split(' ')];
    const { stdout, stderr } = spawnSync(process.execPath, program, { cwd: ROOT, encoding: 'utf8' });
    expect(stdout + stderr).toBe(output.join('\n'));
  },
);

it("the Talos guide's patch is the example", () => {
  const [, patch = ''] = /```yaml\n([\s\S]*?)```/.exec(GUIDE) ?? [];
  expect(readFileSync(join(ROOT, 'examples', 'talos', 'gpu-registration.yaml'), 'utf8')).toBe(patch);
});
