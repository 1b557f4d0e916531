import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { run, runWithInput } from './run-command.ts';

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
    const file = broken('control-plane-without-label.yaml');
    expect(await run('talos', 'lint', file)).toEqual({
      code: 1,
      stdout: [
        `${file}:6:1  no-effect  control-plane-label  labels`,
        '  nothing marks this node as a control plane: beside a KubeNodeConfig, Talos adds no node-role.kubernetes.io/control-plane by itself, neither label nor taint',
        '  fix: add to its labels node-role.kubernetes.io/control-plane: "", and to its taints node-role.kubernetes.io/control-plane: NoSchedule, unless ordinary pods are to run here',
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
    const { code, stdout } = await runWithInput(
      'machine:\n  nodeTaints:\n    a: NoSchedule\n',
      ...['talos', 'lint', '-', '--role', 'worker'],
    );
    expect(code).toBe(1);
    expect(stdout).toMatch(/^standard input:3:5 {2}no-effect {2}worker-taint {2}machine\.nodeTaints\.a\n/);
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

  it('large JSON has lines, too', async () => {
    const file = write('large.json', JSON.stringify({ machine: { token: 'x'.repeat(1_100_000), nodeTaint: {} } }));
    const { stdout } = await run('talos', 'lint', file);
    expect(stdout).toMatch(/large\.json:1:1100024 {2}refused {2}unknown-field {2}machine\.nodeTaint\n/);
  });

  it.each([
    { args: ['--talos-version', '2.0'], says: 'Expected a version from 1.3 to 1.15.' },
    { args: ['--talos-version', '1.2'], says: 'Expected a version from 1.3 to 1.15.' },
    { args: ['--role', 'master'], says: 'Allowed choices are controlplane, worker.' },
    { args: ['--since', 'missing.yaml'], says: 'missing.yaml: not found' },
    { args: ['--fail-on', 'everything'], says: 'Allowed choices are refused, no-effect, deprecated, never.' },
    { args: ['missing.yaml'], says: 'missing.yaml: not found' },
  ])('$args is bad input', async ({ args, says }) => {
    const { code, stdout, stderr } = await run('talos', 'lint', healthy('patch.yaml'), ...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(says);
  });

  describe('severities', () => {
    const DEPRECATED = 'machine: { type: controlplane, sysctls: { a: b } }\n';
    const IN_VAIN = 'machine: { type: worker, nodeLabels: { node-role.kubernetes.io/gpu: "" } }\n';
    const REFUSED = 'machine: { type: worker, kubelett: {} }\n';

    it.each([
      { failOn: [], codes: [0, 1, 1] },
      { failOn: ['--fail-on', 'refused'], codes: [0, 0, 1] },
      { failOn: ['--fail-on', 'no-effect'], codes: [0, 1, 1] },
      { failOn: ['--fail-on', 'deprecated'], codes: [1, 1, 1] },
      { failOn: ['--fail-on', 'never'], codes: [0, 0, 0] },
    ])('$failOn ends with $codes', async ({ failOn, codes }) => {
      for (const [index, text] of [DEPRECATED, IN_VAIN, REFUSED].entries()) {
        const file = write(`severity-${index}.yaml`, text);
        const { code, stdout } = await run('talos', 'lint', file, '--talos-version', '1.14', '-o', 'json', ...failOn);
        expect(code).toBe(codes[index]);
        // What it does not fail on, it still says.
        const severities = JSON.parse(stdout).findings.map(({ severity }: { severity: string }) => severity);
        expect(severities).toContain(['deprecated', 'no-effect', 'refused'][index]);
      }
    });
  });

  describe('rules that are switched off', () => {
    const TEXT = 'machine:\n  type: worker\n  kubelett: {}\n  nodeTaint: {}\n  nodeTaints: { a: NoSchedule }\n';
    const rules = async (text: string, ...args: string[]) => {
      const { stdout } = await run('talos', 'lint', write('off.yaml', text), '-o', 'json', ...args);
      return JSON.parse(stdout).findings.map(({ rule }: { rule: string }) => rule);
    };

    it.each([
      '# taintkeeper-lint-disable unknown-field worker-taint',
      '  # taintkeeper-lint-disable: unknown-field, worker-taint -- they know',
      '#taintkeeper-lint-disable unknown-field\r\n# taintkeeper-lint-disable worker-taint',
    ])('by a comment in the file: %s', async (comment) => {
      expect(await rules(TEXT)).toEqual(['unknown-field', 'unknown-field', 'worker-taint']);
      expect(await rules(`${TEXT}${comment}\n`)).toEqual([]);
    });

    it.each([
      'a text: "# taintkeeper-lint-disable unknown-field"',
      '# see taintkeeper-lint-disable unknown-field',
      '# taintkeeper-lint-disabled unknown-field',
    ])('and by no other: %s', async (line) => {
      expect(await rules(`${TEXT}debug: false # ${line}\n`)).toHaveLength(3);
    });

    it('for that file alone', async () => {
      const off = write('one.yaml', `# taintkeeper-lint-disable unknown-field worker-taint\n${TEXT}`);
      const on = write('other.yaml', TEXT);
      const { stdout } = await run('talos', 'lint', off, on, '-o', 'json');
      const { findings } = JSON.parse(stdout);
      expect(findings.map(({ file }: { file: string }) => file)).toEqual([on, on, on]);
    });

    it.each(['worker-tains', ''])('a comment with no such rule is bad input: %j', async (name) => {
      const { code, stderr } = await run(
        'talos',
        'lint',
        write('off.yaml', `machine: {}\n# taintkeeper-lint-disable ${name}\n`),
      );
      expect(code).toBe(2);
      expect(stderr).toMatch(/off\.yaml:2: /);
    });
  });

  describe('many files', () => {
    const folder = (name: string, files: Record<string, string>): string => {
      mkdirSync(join(directory, name));
      for (const [file, text] of Object.entries(files)) write(join(name, file), text);
      return join(directory, name);
    };
    const WORKER = 'machine: { type: worker, kubelett: {} }\n';

    it('one that cannot be used does not hide what is found in the others', async () => {
      const good = write('good.yaml', WORKER);
      const { code, stdout, stderr } = await run('talos', 'lint', 'missing.yaml', good, write('bad.yaml', 'a: "b" c'));
      expect(code).toBe(2);
      expect(stdout).toContain(`${good}:1:26  refused  unknown-field`);
      expect(stderr).toMatch(/missing\.yaml: not found[\s\S]*bad\.yaml:1/);
    });

    it('a directory: what is none of Talos in it is passed over, and said to be', async () => {
      const path = folder('talos', {
        'worker.yaml': WORKER,
        'secrets.yaml': 'cluster: {}\nsecrets: {}\ntrustdinfo: {}\ncerts: {}\n',
        'talosconfig.yaml': 'context: a\ncontexts: {}\n',
        'node.yml': 'apiVersion: v1\nkind: Node\n',
        'encrypted.yaml': 'machine: { token: "ENC[a]" }\nsops: { version: "3" }\n',
        'empty.yaml': '# nothing\n',
        'readme.md': '# Talos\n',
      });
      const { code, stdout, stderr } = await run('talos', 'lint', path);
      expect(code).toBe(1);
      expect(stdout.split('\n')[0]).toBe(`${join(path, 'worker.yaml')}:1:26  refused  unknown-field  machine.kubelett`);
      const names = stderr
        .trim()
        .split('\n')
        .map((line) => /passed over: .*\/(\w+)\.ya?ml/.exec(line)?.[1]);
      expect(names).toEqual(['empty', 'encrypted', 'node', 'secrets', 'talosconfig']);
    });

    it('a file that its directory names as well has its findings once', async () => {
      const path = mkdtempSync(join(directory, 'twice-'));
      const file = join(path, 'worker.yaml');
      writeFileSync(file, 'machine: {type: worker, kubelett: {}}\n');
      const { stdout } = await run('talos', 'lint', path, file, '-o', 'json');
      expect(JSON.parse(stdout).findings).toHaveLength(1);
    });

    it('the same files, named, are bad input', async () => {
      const file = write('secrets.yaml', 'cluster: {}\nsecrets: {}\ntrustdinfo: {}\ncerts: {}\n');
      const { code, stderr } = await run('talos', 'lint', file);
      expect(code).toBe(2);
      expect(stderr).toContain('these are the secrets of a cluster (talosctl gen secrets)');
    });

    it('a directory without any is bad input', async () => {
      const { code, stderr } = await run('talos', 'lint', folder('none', { 'readme.md': '' }));
      expect([code, stderr]).toEqual([2, expect.stringContaining('none: there are no YAML or JSON files in it')]);
    });
  });

  describe('for CI', () => {
    const TEXT = 'machine:\n  type: worker\n  "100%, a:b": {}\n  sysctls: {}\n';
    const lintFor = (format: string) =>
      run('talos', 'lint', write('100% of it.yaml', TEXT), '--talos-version', '1.14', '-o', format);

    it('annotations of GitHub Actions', async () => {
      const { code, stdout } = await lintFor('github');
      const file = join(directory, '100%25 of it.yaml');
      expect(code).toBe(1);
      expect(stdout.split('\n')).toEqual([
        expect.stringMatching(
          new RegExp(
            `^::error file=${file},line=3,col=3,title=unknown-field%3A machine\\["100%25%2C a%3Ab"\\]::there is no 100%25, a:b in machine: .*%0Afix: remove it$`,
          ),
        ),
        expect.stringMatching(/^::warning file=.*,line=4,col=3,title=deprecated-field%3A machine\.sysctls::.*%0Afix: /),
        '',
      ]);
    });

    it('SARIF', async () => {
      const { stdout } = await lintFor('sarif');
      const { version, runs } = JSON.parse(stdout);
      const [{ tool, results }] = runs;
      expect(version).toBe('2.1.0');
      expect(results).toHaveLength(2);
      for (const { ruleId, ruleIndex } of results) expect(tool.driver.rules[ruleIndex].id).toBe(ruleId);
      expect(results[0]).toMatchObject({
        ruleId: 'unknown-field',
        level: 'error',
        message: { text: expect.stringContaining('\nfix: remove it') },
        locations: [
          {
            physicalLocation: {
              artifactLocation: { uri: expect.stringMatching(/^file:\/\/\/.*\/100%25%20of%20it\.yaml$/) },
              region: { startLine: 3, startColumn: 3 },
            },
          },
        ],
        properties: { severity: 'refused' },
      });
      expect(results[1].level).toBe('warning');
    });

    it('without findings, SARIF says that it looked', async () => {
      const { code, stdout } = await run('talos', 'lint', healthy('patch.yaml'), '-o', 'sarif');
      expect([code, JSON.parse(stdout).runs[0].results]).toEqual([0, []]);
    });
  });

  it('a file that cannot be read keeps quiet about what is in it', async () => {
    const file = write('bad.yaml', 'machine:\n  token: "CANARY" CANARY\n');
    const { code, stdout, stderr } = await run('talos', 'lint', file);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^taintkeeper: .*bad\.yaml:2:\d+: this is no YAML \(.*\)\n$/);
    expect(stderr).not.toContain('CANARY');
  });
});
