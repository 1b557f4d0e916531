import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parsePolicies } from '../../../src/files/policy-files.ts';
import { run } from '../cli/run-command.ts';
import { allPages, blocksOf, commandsOf, ROOT } from './pages.ts';

const REVIEW = 'taintkeeper review ';

const shown = allPages().flatMap((page) => commandsOf(page).map((command) => ({ page: page.path, ...command })));
const reviews = shown.filter(({ command, output }) => command.startsWith(REVIEW) && output !== '');
const NODES = 'taintkeeper export --nodes examples/';
const nodePolicies = shown.filter(({ command, output }) => command.startsWith(NODES) && output !== '');
const files = allPages().flatMap((page) =>
  blocksOf(page, 'yaml').flatMap((block) => {
    const [, file, text] = /^# (\S+\.yaml)\n([\s\S]*)$/.exec(block) ?? [];
    return file === undefined ? [] : [{ page: page.path, file, text }];
  }),
);
const policies = allPages().flatMap((page) =>
  blocksOf(page, 'yaml')
    .filter((block) => block.includes('apiVersion: taintkeeper.dev/'))
    .map((block, index) => ({ page: page.path, index, block })),
);

it('the pages show commands, files and policies', () => {
  expect([reviews.length, files.length, policies.length].map((count) => count >= 12)).toEqual([true, true, true]);
});

describe('what a page shows of review is what it prints', () => {
  it.each(reviews)('$page: $command', async ({ command, output }) => {
    const { code, stdout, stderr } = await run(...command.split(' ').slice(1));

    expect(code === 0 || code === 1).toBe(true);
    // As a terminal shows it: what there is to know comes first.
    expect(stderr + stdout).toBe(output);
    expect(code === 1).toBe(stdout.includes('denied'));
  });
});

it('the pages show the policy of a node', () => {
  expect(nodePolicies).not.toEqual([]);
});

describe('what a page shows of export --nodes is what it prints', () => {
  it.each(nodePolicies)('$page: $command', async ({ command, output }) => {
    expect((await run(...command.split(' ').slice(1))).stdout).toBe(output);
  });
});

describe('a block that names a file is that file', () => {
  it.each(files)('$page: $file', ({ file, text }) => {
    expect(text).toBe(readFileSync(join(ROOT, file), 'utf8'));
  });
});

describe('a policy that a page shows is valid', () => {
  it.each(policies)('$page, number $index', ({ page, block }) => {
    expect(parsePolicies([{ text: block, name: page }]).length).toBeGreaterThan(0);
  });
});

it('no page and no message tells anyone to run a package of npm that is not published', () => {
  const sources = globSync(['src/**/*.ts', 'manifests/**/*.yaml', 'scripts/**/*.ts'], { cwd: ROOT }).map((path) => ({
    path,
    text: readFileSync(join(ROOT, path), 'utf8'),
  }));
  const advertised = [...allPages(), ...sources].flatMap(({ path, text }) =>
    text.split('\n').flatMap((line) => (/\bnpx (--yes |-y )?taintkeeper\b/.test(line) ? [`${path}: ${line}`] : [])),
  );
  expect(advertised).toEqual([expect.stringMatching(/^docs\/install\.md: Do not run `npx taintkeeper`/)]);
});

it('no page and no manifest names an account of GitHub that anyone can register', () => {
  const manifests = globSync('manifests/**/*.{yaml,json,tpl,txt}', { cwd: ROOT }).map((path) => ({
    path,
    text: readFileSync(join(ROOT, path), 'utf8'),
  }));
  expect(manifests.length).toBeGreaterThan(20);
  // OWNER is a word to replace: on pages, and not in a file that is applied as it is.
  const named = [
    ...allPages().filter(({ text }) => /github\.com\/taintkeeper\b/i.test(text)),
    ...manifests.filter(({ text }) => /github\.com\/(taintkeeper|OWNER)\b/i.test(text)),
  ];
  expect(named.map(({ path }) => path)).toEqual([]);
});
