import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { run, runProcess } from './run-command.ts';

const CONFIGURATIONS = join(import.meta.dirname, '..', 'talos');
const broken = (name: string) => join(CONFIGURATIONS, 'broken', name);
const healthy = (name: string) => join(CONFIGURATIONS, 'healthy', name);

const directory = mkdtempSync(join(tmpdir(), 'taintkeeper-lint-'));
afterAll(() => rmSync(directory, { recursive: true }));
const write = (name: string, text: string): string => {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
};

describe('talos lint', () => {
  it('says nothing of what is right', async () => {
    expect(await run('talos', 'lint', healthy('v1.13-worker.yaml'), healthy('v1.5-worker.yaml'))).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
  });

  it('says where, why, and what to write instead', async () => {
    const file = broken('control-plane-without-taint.yaml');
    expect(await run('talos', 'lint', file)).toEqual({
      code: 1,
      stdout: [
        `${file}:8:1  control-plane-taint  taints`,
        '  nothing keeps ordinary pods off this control-plane node: with a KubeNodeConfig, Talos adds no node-role.kubernetes.io/control-plane taint by itself',
        '  fix: add to its taints: node-role.kubernetes.io/control-plane: NoSchedule',
        '',
      ].join('\n'),
      stderr: '',
    });
  });

  it('reads several files, and goes through each from its top to its end', async () => {
    const { code, stdout } = await run(
      'talos',
      'lint',
      broken('worker-labels.yaml'),
      broken('cert-sans.yaml'),
      '-o',
      'json',
    );
    const { findings } = JSON.parse(stdout);
    expect(code).toBe(1);
    expect(findings.map(({ file, line }: { file: string; line: number }) => [file, line])).toEqual([
      ...[5, 6, 7, 8, 14].map((line) => [broken('worker-labels.yaml'), line]),
      ...[5, 6, 8, 10, 15, 17].map((line) => [broken('cert-sans.yaml'), line]),
    ]);
  });

  it('in YAML, too; without findings, an empty list', async () => {
    expect(parse((await run('talos', 'lint', healthy('patch.yaml'), '-o', 'yaml')).stdout)).toEqual({ findings: [] });
  });

  it('standard input', async () => {
    const { code, stdout } = await runProcess(['talos', 'lint', '-', '--role', 'worker'], {
      stdin: 'machine:\n  nodeTaints:\n    a: NoSchedule\n',
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^standard input:3:5 {2}worker-taint {2}machine\.nodeTaints\.a\n/);
  });

  it.each([
    ['1.5', ['field-version']],
    ['v1.13.2', ['worker-taint']],
  ])('--talos-version %s', async (version, rules) => {
    const file = write('worker.yaml', 'machine: { type: worker, nodeTaints: { a: NoSchedule } }');
    const { stdout } = await run('talos', 'lint', file, '--talos-version', version, '-o', 'json');
    expect(JSON.parse(stdout).findings.map(({ rule }: { rule: string }) => rule)).toEqual(rules);
  });

  it('--since', async () => {
    const { code, stdout } = await run(
      'talos',
      'lint',
      broken('registered-after.yaml'),
      '--since',
      broken('registered-before.yaml'),
    );
    expect(code).toBe(1);
    expect(stdout.match(/changed-registration/g)).toHaveLength(3);
  });

  it('control characters in keys stay off the terminal', async () => {
    const file = write('escape.yaml', 'machine: { "\\e[31mred": 1 }');
    const { stdout } = await run('talos', 'lint', file);
    expect(stdout).toContain('\\u{1b}[31mred');
    expect(stdout).not.toContain('\u001b');
  });

  it('large JSON has no lines', async () => {
    const file = write('large.json', JSON.stringify({ machine: { token: 'x'.repeat(1_100_000), nodeTaint: {} } }));
    const { stdout } = await run('talos', 'lint', file);
    expect(stdout).toMatch(/large\.json {2}unknown-field {2}machine\.nodeTaint\n/);
  });

  it.each([
    { args: ['--talos-version', '2.0'], says: 'Expected a version from 1.3 to 1.15.' },
    { args: ['--talos-version', '1.2'], says: 'Expected a version from 1.3 to 1.15.' },
    { args: ['--role', 'master'], says: 'Allowed choices are controlplane, worker.' },
    { args: ['--since', 'missing.yaml'], says: 'missing.yaml: not found' },
    { args: ['missing.yaml'], says: 'missing.yaml: not found' },
  ])('$args is bad input', async ({ args, says }) => {
    const { code, stdout, stderr } = await run('talos', 'lint', healthy('patch.yaml'), ...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(says);
  });

  it('a file that cannot be read keeps quiet about what is in it', async () => {
    const file = write('bad.yaml', 'machine:\n  token: "CANARY" CANARY\n');
    const { code, stdout, stderr } = await run('talos', 'lint', file);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^taintkeeper: .*bad\.yaml:2:\d+: this is no YAML \(.*\)\n$/);
    expect(stderr).not.toContain('CANARY');
  });
});
