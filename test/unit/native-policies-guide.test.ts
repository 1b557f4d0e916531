import { describe, expect, it } from 'vitest';
import { run } from './cli/run-command.ts';
import { allPages, commandsOf } from './docs/pages.ts';

const EXPORT = /^taintkeeper (export .*) \| grep '\^#'$/;

const shown = allPages().flatMap((page) =>
  commandsOf(page).flatMap(({ command, output }) => {
    const [, args] = EXPORT.exec(command) ?? [];
    return args === undefined ? [] : [{ page: page.path, args, output }];
  }),
);

it('the guide shows what is left out', () => {
  expect(shown.map(({ page }) => page)).toContain('docs/native-policies.md');
});

describe('the comments that a page shows of export are those that it prints', () => {
  it.each(shown)('$page: $args', async ({ args, output }) => {
    const { code, stdout } = await run(...args.split(' '));
    expect(code).toBe(0);
    expect(stdout.match(/^#.*\n/gm)?.join('')).toBe(output);
  });
});
