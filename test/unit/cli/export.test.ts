import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { run, runProcess } from './run-command.ts';

const directory = mkdtempSync(join(tmpdir(), 'taintkeeper-export-'));
const file = (name: string, text: string): string => {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
};

const taintPolicy = (name: string, mode = 'Restore') => `
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: ${name} }
spec: { mode: ${mode}, taints: [{ key: dedicated }] }
`;
const RECOVERY = `
apiVersion: taintkeeper.dev/v1alpha1
kind: RecoveryPolicy
metadata: { name: daemons }
spec: { daemonSets: { namespaces: [kube-system] } }
`;

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly policyName?: string };
}
const manifestsIn = (text: string) => parseAllDocuments(text).map((document) => document.toJS() as Manifest);

describe('export', () => {
  it('prints the built-in policies, each object with its purpose before it', async () => {
    const { code, stdout } = await run('export');
    expect(code).toBe(0);
    const manifests = manifestsIn(stdout);
    expect(manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual(
      expect.arrayContaining([
        'MutatingAdmissionPolicy control-plane-taints.restore.taintkeeper.dev',
        'MutatingAdmissionPolicyBinding cni-tolerations.tolerate.taintkeeper.dev',
      ]),
    );
    expect(stdout.split('---\n').filter((text) => !text.startsWith('# '))).toEqual([]);
  });

  it('lists what cannot be said in comments and on stderr, and that is no failure', async () => {
    const { code, stdout, stderr } = await run(
      'export',
      '--policies',
      file('both.yaml', `${taintPolicy('a')}---${RECOVERY}`),
    );
    expect(code).toBe(0);
    expect(stderr).toMatch(/^taintkeeper: TaintPolicy a: spec\.mode: /m);
    expect(stderr).toMatch(/^taintkeeper: RecoveryPolicy daemons: spec: /m);
    expect(stdout).toMatch(/^# - spec\.mode: /m);
    expect(stdout).toMatch(/^# RecoveryPolicy daemons/m);
    expect(stderr).not.toContain('--feature-gates');
  });

  it.each([
    { args: ['--kubernetes', 'v1.36.3'], mutating: 'admissionregistration.k8s.io/v1' },
    { args: ['--kubernetes', '1.34'], mutating: 'admissionregistration.k8s.io/v1beta1' },
    { args: ['--kubernetes', '1.34', '--no-mutating'], mutating: undefined },
    { args: ['--kubernetes', '1.30'], mutating: undefined },
  ])('$args', async ({ args, mutating }) => {
    const { stdout, stderr } = await run('export', '--policies', file('one.yaml', taintPolicy('a')), ...args);
    const versions = manifestsIn(stdout).map(({ kind, apiVersion }) => [kind.slice(0, 8), apiVersion]);
    expect(new Map(versions as [string, string][]).get('Mutating')).toBe(mutating);
    expect(new Map(versions as [string, string][]).get('Validati')).toBe('admissionregistration.k8s.io/v1');
    expect(stderr.includes('--feature-gates')).toBe(mutating?.endsWith('beta1') ?? false);
  });

  it('prints one List in JSON, from standard input', async () => {
    const { code, stdout } = await runProcess(['export', '--policies', '-', '-o', 'json'], { stdin: taintPolicy('a') });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      kind: 'List',
      items: [{ metadata: { name: expect.stringMatching(/^a\./) } }, ...Array(3).fill({})],
    });
  });

  it('writes static manifests, each kind into a folder of its own; what is gone leaves an empty file', async () => {
    const target = join(directory, 'static');
    const written = async (mode: string) => {
      const policies = file('static.yaml', taintPolicy('a', mode));
      const outcome = await run('export', '--policies', policies, '--as', 'static-manifests', '--directory', target);
      expect(outcome.code, outcome.stderr).toBe(0);
      return outcome.stdout
        .trim()
        .split('\n')
        .map((path) => readFileSync(path, 'utf8'));
    };
    const [validating = '', mutating = ''] = await written('Restore');
    expect(manifestsIn(mutating)).toMatchObject([
      { kind: 'MutatingAdmissionPolicy', metadata: { name: 'a.restore.taintkeeper.dev.static.k8s.io' } },
      { kind: 'MutatingAdmissionPolicyBinding', spec: { policyName: 'a.restore.taintkeeper.dev.static.k8s.io' } },
    ]);
    expect(manifestsIn(validating).map(({ kind }) => kind.slice(0, 10))).toEqual(['Validating', 'Validating']);
    expect((await written('Audit'))[1]).toBe('');
  });

  it.each([
    { what: 'a version without native policies', args: ['--kubernetes', '1.29'], fault: 'from 1.30 on' },
    { what: 'what is no version', args: ['--kubernetes', 'latest'], fault: 'Expected a version of Kubernetes' },
    { what: 'static manifests without a place', args: ['--as', 'static-manifests'], fault: 'needs --directory' },
    { what: 'a place without static manifests', args: ['--directory', 'x'], fault: '--directory is for' },
    {
      what: 'static manifests for a version without them',
      args: ['--as', 'static-manifests', '--directory', directory, '--kubernetes', '1.35'],
      fault: 'begins with 1.36',
    },
    {
      what: 'nothing but what has no native form',
      args: ['--policies', file('recovery.yaml', RECOVERY)],
      fault: 'nothing of these',
    },
    {
      what: 'a name too long for an object',
      args: ['--policies', file('long.yaml', taintPolicy('n'.repeat(240)))],
      fault: 'too long a name',
    },
    {
      what: 'a name too long for a file of the API server',
      args: [
        ...['--policies', file('longer.yaml', taintPolicy('n'.repeat(225)))],
        ...['--as', 'static-manifests', '--directory', directory],
      ],
      fault: 'too long a name',
    },
  ])('refuses $what', async ({ args, fault }) => {
    const { code, stdout, stderr } = await run('export', ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(fault);
  });
});
