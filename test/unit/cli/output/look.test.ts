import { spawnSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { lookOf, usesColors } from '../../../../src/cli/output/look.ts';
import { skipFor } from '../../../skip-for.ts';
import { PROGRAM } from '../run-command.ts';

const LOGGER = new URL('../../../../src/cli/serve/logger.ts', import.meta.url).pathname;

it.each([
  { stream: {}, wide: false, width: undefined },
  { stream: { isTTY: true, columns: 90 }, wide: false, width: 90 },
  { stream: { isTTY: true, columns: 90 }, wide: true, width: undefined },
  { stream: { isTTY: true, columns: 0 }, wide: false, width: undefined },
])('lines to $stream, wide: $wide, have at most $width characters', ({ stream, wide, width }) => {
  expect(lookOf(stream, wide)).toMatchObject({ wide, width });
});

describe('usesColors', () => {
  it.each([
    { env: {}, terminal: true, colors: true },
    { env: { NO_COLOR: '1' }, terminal: true, colors: false },
    { env: { NO_COLOR: '' }, terminal: true, colors: true },
    { env: { NO_COLOR: '1', FORCE_COLOR: '1' }, terminal: true, colors: false },
    { env: { FORCE_COLOR: '0' }, terminal: true, colors: false },
    { env: { FORCE_COLOR: 'false' }, terminal: true, colors: false },
    { env: { TERM: 'dumb' }, terminal: true, colors: false },
    { env: { TERM: 'dumb', FORCE_COLOR: '1' }, terminal: true, colors: true },
    { env: {}, terminal: false, colors: false },
    { env: { FORCE_COLOR: '1' }, terminal: false, colors: false },
  ])('$env, terminal: $terminal → $colors', ({ env, terminal, colors }) => {
    for (const [name, value] of Object.entries({ ...PLAIN, ...env })) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());

    expect(usesColors({ isTTY: terminal })).toBe(colors);
  });
});

const PLAIN = { NO_COLOR: undefined, FORCE_COLOR: undefined, TERM: 'xterm-256color' };

/** What the command shows on a terminal. */
function onTerminal(command: readonly string[], env: Record<string, string>): string {
  const line = command.map((word) => `'${word}'`).join(' ');
  const { stdout, status } = spawnSync('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
    env: { ...process.env, ...PLAIN, ...env },
    encoding: 'utf8',
  });
  expect(status).toBe(0);
  return stdout;
}

const obstacle = spawnSync('script', ['--version']).status === 0 ? undefined : 'there is no script(1) of util-linux';

describe('on a real terminal', skipFor(obstacle), () => {
  const log = [
    process.execPath,
    '--input-type=module',
    '--eval',
    `(await (await import("${LOGGER}")).createLogger()).info("serving")`,
  ];

  it.each([
    { env: {}, colors: true },
    { env: { NO_COLOR: '1' }, colors: false },
  ])('the log with $env has colours: $colors', ({ env, colors }) => {
    const shown = onTerminal(log, env);

    expect(shown).toContain('serving');
    expect(stripVTControlCharacters(shown) !== shown).toBe(colors);
  });

  it('a table has colours', () => {
    const shown = onTerminal([process.execPath, PROGRAM, 'review', 'examples/gpu-node.yaml'], {});

    expect(stripVTControlCharacters(shown)).toMatch(/^OBJECT +OPERATION/m);
    expect(stripVTControlCharacters(shown)).not.toBe(shown);
  });
});
