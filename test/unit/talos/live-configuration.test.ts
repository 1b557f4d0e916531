import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { run } from '../cli/run-command.ts';
import { temporaryFile } from '../temporary-directory.ts';

const GENERATED = join(import.meta.dirname, 'generated');

const CONFIGURATION = `version: v1alpha1 # the schema
machine:
  type: worker

  nodeLabel: {}
cluster: {}
`;

/** As talosctl prints a resource (MarshalYAML of its runtime), four spaces for each level. */
const resource = (spec: string, { id = 'v1alpha1', node = '10.0.0.5' } = {}) =>
  stringify(
    {
      node,
      metadata: {
        namespace: 'config',
        type: 'MachineConfigs.config.talos.dev',
        id,
        version: 2,
        owner: 'config.AcquireController',
        phase: 'running',
        annotations: { 'talos.dev/yaml-spec': '1' },
      },
      spec,
    },
    { indent: 4, blockQuote: 'literal', lineWidth: 0 },
  );

const write = (text: string) => temporaryFile('live.yaml', text);

async function lint(text: string, ...args: string[]) {
  const path = write(text);
  const { code, stdout, stderr } = await run('talos', 'lint', path, '-o', 'json', ...args);
  const findings =
    stdout === '' ? [] : (JSON.parse(stdout).findings as { line: number; column: number; field: string }[]);
  return {
    code,
    stderr: stderr.replaceAll(path, 'live.yaml'),
    found: findings.map(({ line, column, field }) => [line, column, field]),
  };
}

describe('a live machine configuration', () => {
  const text = resource(CONFIGURATION);

  it('is judged like the file, at the places where it stands in what talosctl printed', async () => {
    expect((await lint(CONFIGURATION)).found).toEqual([[5, 3, 'machine.nodeLabel']]);
    const { code, found } = await lint(text);
    const line = text.split('\n').findIndex((each) => each.includes('nodeLabel')) + 1;
    const column = (text.split('\n')[line - 1] ?? '').indexOf('nodeLabel') + 1;
    expect({ code, found }).toEqual({ code: 1, found: [[line, column, 'machine.nodeLabel']] });
    expect(column).toBeGreaterThan(3);
  });

  it('may switch off rules for itself', async () => {
    expect((await lint(resource(`# taintkeeper-lint-disable unknown-field\n${CONFIGURATION}`))).found).toEqual([]);
  });

  it('of several documents is one', async () => {
    const several = `${CONFIGURATION.replace('  nodeLabel: {}\n', '')}---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostnam: a\n`;
    expect((await lint(resource(several))).found).toMatchObject([[expect.any(Number), expect.any(Number), 'hostnam']]);
  });

  it('that is in force is meant, and not the one on disk', async () => {
    const staged = resource('machine: { type: worker, other: 1 }\n', { id: 'persistent' });
    for (const both of [`${text}---\n${staged}`, `${staged}---\n${text}`])
      expect((await lint(both)).found).toMatchObject([[expect.any(Number), expect.any(Number), 'machine.nodeLabel']]);
    expect((await lint(staged)).found).toMatchObject([[expect.any(Number), expect.any(Number), 'machine.other']]);
  });

  it('that an earlier Talos prints as it is', async () => {
    const spec = { version: 'v1alpha1', machine: { type: 'worker', nodeLabel: {} }, cluster: {} };
    const printed = stringify({
      node: 'n',
      metadata: { type: 'MachineConfigs.config.talos.dev', id: 'v1alpha1' },
      spec,
    });
    expect((await lint(printed)).found).toMatchObject([[expect.any(Number), expect.any(Number), 'machine.nodeLabel']]);
  });

  it('as JSON has the place of its spec', async () => {
    const printed = JSON.stringify({
      node: 'n',
      metadata: { type: 'MachineConfigs.config.talos.dev', id: 'v1alpha1' },
      spec: CONFIGURATION,
    });
    const at = printed.indexOf('"spec"') + 1;
    expect((await lint(printed)).found).toEqual([[1, at, 'machine.nodeLabel']]);
  });

  it('of several machines is refused', async () => {
    const { code, stderr } = await lint(`${text}---\n${resource(CONFIGURATION, { node: '10.0.0.6' })}`);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^taintkeeper: live\.yaml: these are 2 machines \(live\.yaml:1:1, live\.yaml:\d+:1\): give each a file of its own\n$/,
    );
  });

  it('that is no YAML has the place of the fault, and says nothing of what is in it', async () => {
    const bad = resource('machine:\n  token: "CANARY" CANARY\n');
    const { code, stderr } = await lint(bad);
    const line = bad.split('\n').findIndex((each) => each.includes('CANARY')) + 1;
    expect(code).toBe(2);
    expect(stderr).toMatch(new RegExp(`^taintkeeper: live\\.yaml:${line}:\\d+: this is no YAML \\(.*\\)\\n$`));
    expect(stderr).not.toContain('CANARY');
  });

  it.each(readdirSync(GENERATED).filter((name) => name.startsWith('v1.13-')))('is judged like %s', async (name) => {
    const generated = readFileSync(join(GENERATED, name), 'utf8');
    const [plain, live] = await Promise.all([lint(generated), lint(resource(generated))]);
    expect(live.found.map(([, , field]) => field)).toEqual(plain.found.map(([, , field]) => field));
    expect(live.code).toBe(plain.code);
  });
});
