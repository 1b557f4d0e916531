import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { VERSION } from '../../src/version.ts';
import { createWorkspace } from '../control-plane/workspace.ts';

const workspace = createWorkspace('bundle');
const dist = workspace.path('dist');
let files: readonly string[];

beforeAll(async () => {
  const { default: parts } = await import('../../rolldown.config.ts');
  const built = [];
  for (const { output, ...input } of [parts].flat()) {
    built.push(...(await build({ ...input, logLevel: 'silent', output: { ...output, dir: dist } })).output);
  }
  files = built.map(({ fileName }) => fileName).filter((name) => name.endsWith('.cjs'));
}, 60_000);
afterAll(() => workspace.remove());

function run(program: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...args, program, '--version'], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

/** The program's first file alone, beside a stand-in for the rest. */
function firstFileWith(name: string, main: string): string {
  mkdirSync(workspace.path(name));
  workspace.write(`${name}/main.cjs`, main);
  return workspace.write(`${name}/taintkeeper.cjs`, readFileSync(join(dist, 'taintkeeper.cjs'), 'utf8'));
}

it('runs', () => {
  expect(run(join(dist, 'taintkeeper.cjs'))).toEqual({ status: 0, stdout: `${VERSION}\n`, stderr: '' });
});

it('is strict, as its sources are, and all of it Latin-1', () => {
  const texts = files.map((file) => readFileSync(join(dist, file), 'utf8'));
  expect(texts.map((text) => /^(#!.*\n)?"use strict";/.test(text))).toEqual(files.map(() => true));
  expect(texts.map((text) => /[^\0-\xff]/.exec(text)?.[0])).toEqual(files.map(() => undefined));
});

it('has the notices of all that it can have parts of, as their licences ask', () => {
  const notices = readFileSync(join(dist, 'THIRD-PARTY-NOTICES.txt'), 'utf8').split(/^(?=\S+ \d+\.\d+\.\d+\S*, )/m);
  const names = notices.map((notice) => notice.split(' ')[0]);
  // jsep is built into another package, and the bundler leaves helpers.
  expect(names).toEqual(expect.arrayContaining(['fastify', '@kubernetes/client-node', 'jsep', 'rolldown']));
  expect(names).not.toContain('typescript');
  const [without, withText] = [true, false].map((hasNone) =>
    notices.filter((notice) => notice.includes('has no text of its licence') === hasNone),
  ) as [string[], string[]];
  expect(without.map((notice) => notice.split(' ')[0])).toEqual([
    '@bufbuild/protobuf',
    '@connectrpc/connect',
    '@connectrpc/connect-node',
    'abstract-logging',
  ]);
  expect(without.at(-1)).toMatch(/^abstract-logging \S+, MIT\n\nCopyright \(c\) James Sumners/);
  for (const licence of ['MIT', 'Apache-2.0', 'BSD-3-Clause']) {
    expect(
      withText.some((notice) => notice.split('\n')[0]?.endsWith(`, ${licence}`)),
      licence,
    ).toBe(true);
  }
});

it.each(['20.20.2', '24.4.1'])(
  'says which Node.js it needs before it loads what such a Node.js cannot: %s',
  (version) => {
    const program = firstFileWith(`on-${version}`, 'throw new Error("loaded")');
    const old = workspace.write(
      `on-${version}.cjs`,
      `Object.defineProperty(process.versions, "node", { value: "${version}" })`,
    );

    const { status, stderr } = run(program, '--require', old);
    expect(stderr).toMatch(/^taintkeeper needs Node\.js 24\.5 or newer, this is \d+\.\d+\.\d+;.*\n$/);
    expect(stderr).toContain(version);
    expect(status).toBe(2);
  },
);

it('does not end with 0 when there is nothing more to wait for, and no result', () => {
  expect(run(firstFileWith('never', 'exports.main = () => new Promise(() => {})')).status).toBe(70);
});

it('loads nothing for serve that only commands need, and nothing that only some replicas need', () => {
  const hook = workspace.write(
    'loaded.cjs',
    'process.once("exit", () => process.stderr.write("\\nloaded " + JSON.stringify(Object.keys(require.cache))))',
  );
  const args = ['--require', hook, join(dist, 'taintkeeper.cjs'), 'serve', '--policies', workspace.path('none.yaml')];
  const { stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const loaded: string[] = JSON.parse(/^loaded (.*)$/m.exec(stderr)?.[1] ?? '[]');
  const names = loaded.map((file) => file.slice(dist.length + 1)).filter((name) => files.includes(name));
  expect(names).toEqual(expect.arrayContaining(['main.cjs', 'serve.cjs']));
  expect(names.filter((name) => /commands|selfsigned|pino-pretty|web-socket|ask-apid|config/.test(name))).toEqual([]);
});
