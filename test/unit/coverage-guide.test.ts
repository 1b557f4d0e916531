import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { run } from './cli/run-command.ts';
import { allPages, commandsOf } from './docs/pages.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const GUIDE = readFileSync(join(ROOT, 'docs', 'coverage.md'), 'utf8');
const SHOWN = allPages().flatMap((page) =>
  commandsOf(page).flatMap(({ command, output }) => {
    const [, args] = /^taintkeeper (coverage (?:.* )?examples\/.*)$/.exec(command) ?? [];
    return args === undefined || output === '' ? [] : [{ page: page.path, args, output }];
  }),
);

it('the pages show commands', () => {
  expect(SHOWN.length).toBeGreaterThan(3);
});

it.each(['docs/coverage.md', 'docs/migrate-from-master.md'])('%s shows commands', (path) => {
  expect(SHOWN.map(({ page }) => page)).toContain(path);
});

it.each(SHOWN)('$page: taintkeeper $args prints what the page says', async ({ args, output }) => {
  expect((await run(...args.replaceAll("'", '').split(' '))).stdout).toBe(output);
});

it('the guide has each form of a remedy', async () => {
  const [, table = ''] = /^\| `--as` \|.*\n((?:\|.*\n)+)/m.exec(GUIDE) ?? [];
  const forms = [...table.matchAll(/^\| `([\w-]+)`/gm)].map(([, form]) => form);
  const { stderr } = await run('coverage', 'fix', 'examples/mixed-cluster.yaml', '--as', 'none');
  expect(stderr).toContain(`Allowed choices are ${forms.join(', ')}.`);
});
