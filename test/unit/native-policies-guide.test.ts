import { describe, expect, it } from 'vitest';
import { run } from './cli/run-command.ts';
import { allPages, commandsOf } from './docs/pages.ts';

const EXPORT = /^taintkeeper (export --policies examples\/\S+) > \S+$/;

const shown = allPages().flatMap((page) =>
  commandsOf(page).flatMap(({ command, output }) => {
    const [, args] = EXPORT.exec(command) ?? [];
    return args === undefined ? [] : [{ page: page.path, args, output }];
  }),
);

it('the guide shows what is left out', () => {
  expect(shown.map(({ page }) => page)).toContain('docs/native-policies.md');
});

describe('a page shows what export prints on standard error, and its comments repeat what is left out', () => {
  it.each(shown)('$page: $args', async ({ args, output }) => {
    const { code, stdout, stderr } = await run(...args.split(' '));
    expect(code).toBe(0);
    expect(stderr).toBe(output);
    const limits = [...output.matchAll(/^taintkeeper: \w+ \S+: (spec\..*)$/gm)].map(([, limit]) => `- ${limit}`);
    expect(limits).not.toEqual([]);
    expect([...stdout.matchAll(/^# (- .*)$/gm)].map(([, limit]) => limit)).toEqual(limits);
  });
});
