import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { answer, clientFor, refusal, startFakeApi } from '../cluster/client/fake-api.ts';
import { run, runWithInput } from './run-command.ts';

const directory = mkdtempSync(join(tmpdir(), 'taintkeeper-export-'));
afterAll(() => rmSync(directory, { recursive: true }));
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

  it('says on stderr what was exported', async () => {
    const builtIn = await run('export');
    expect(builtIn.stderr.split('\n').slice(0, 2)).toEqual([
      'taintkeeper: exported the 2 policies that are built in, for Kubernetes 1.36: TaintPolicy control-plane-taints, TolerationPolicy cni-tolerations',
      'taintkeeper: --cluster exports the policies of a cluster, and --policies those of files',
    ]);
    const own = await run('export', '--policies', file('one.yaml', taintPolicy('a')), '--kubernetes', '1.30');
    expect(own.stderr).toMatch(/^taintkeeper: exported 1 policy of files, for Kubernetes 1\.30: TaintPolicy a\n/);
  });

  it.each([
    { mode: 'Restore', purpose: 'restores taints that an update of a node removes' },
    {
      mode: 'Deny',
      purpose: 'removes the entries of a taint that was removed on purpose from the annotation of the node',
    },
  ])('says of the mutation of a $mode policy what it does', async ({ mode, purpose }) => {
    const { stdout } = await run('export', '--policies', file(`${mode}.yaml`, taintPolicy('a', mode)));
    const comments = stdout.split('---\n').filter((text) => text.includes('\nkind: MutatingAdmissionPolicy\n'));
    expect(comments[0]).toContain(`# TaintPolicy a: ${purpose}\n`);
  });

  it('says of every object what it does, in words', async () => {
    const required = taintPolicy('a').replace('{ key: dedicated }', '{ key: a, effect: NoSchedule, ensure: Always }');
    const { stdout } = await run('export', '--policies', file('required.yaml', required));
    const purposes = [...stdout.matchAll(/^# TaintPolicy a: (.*)$/gm)].map(([, purpose = '']) => purpose);
    expect(purposes.length).toBe(manifestsIn(stdout).length);
    expect(purposes.filter((purpose) => !purpose.includes(' '))).toEqual([]);
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
    const { code, stdout } = await runWithInput(taintPolicy('a'), 'export', '--policies', '-', '-o', 'json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      kind: 'List',
      items: [{ metadata: { name: expect.stringMatching(/^a\./) } }, ...Array(5).fill({})],
    });
  });

  it('writes static manifests, one folder per kind, and empties the file of a kind without manifests', async () => {
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
      { kind: 'MutatingAdmissionPolicy', metadata: { name: 'a.disallow.taintkeeper.dev.static.k8s.io' } },
      { kind: 'MutatingAdmissionPolicyBinding', spec: { policyName: 'a.disallow.taintkeeper.dev.static.k8s.io' } },
    ]);
    expect(manifestsIn(validating).map(({ kind }) => kind.slice(0, 10))).toEqual(['Validating', 'Validating']);
    expect((await written('Audit'))[1]).toBe('');
  });

  it.each([
    { what: 'a version without native policies', args: ['--kubernetes', '1.29'], fault: 'from 1.30 on' },
    { what: 'two sources', args: ['--cluster', '--policies', 'x'], fault: 'exclude each other' },
    { what: 'a cluster that is not asked', args: ['--context', 'x'], fault: 'are for --cluster' },
    {
      what: 'a form of native policies for taints of nodes',
      args: ['--nodes', 'x', '--as', 'policies'],
      fault: 'with --nodes',
    },
    { what: 'what is no version', args: ['--kubernetes', 'latest'], fault: 'Expected a version of Kubernetes' },
    { what: 'static manifests without a place', args: ['--as', 'static-manifests'], fault: 'needs --directory' },
    { what: 'a place without static manifests', args: ['--directory', 'x'], fault: '--directory is for' },
    {
      what: 'static manifests for a version without them',
      args: ['--as', 'static-manifests', '--directory', directory, '--kubernetes', '1.35'],
      fault: 'needs 1.36 or newer',
    },
    {
      what: 'nothing but what has no native form',
      args: ['--policies', file('recovery.yaml', RECOVERY)],
      fault: 'nothing of these',
    },
    {
      what: 'a name too long for an object',
      args: ['--policies', file('long.yaml', taintPolicy('n'.repeat(240)))],
      fault: 'is too long for the name',
    },
    {
      what: 'a name too long for a file of the API server',
      args: [
        ...['--policies', file('longer.yaml', taintPolicy('n'.repeat(225)))],
        ...['--as', 'static-manifests', '--directory', directory],
      ],
      fault: 'is too long for the name',
    },
  ])('refuses $what', async ({ args, fault }) => {
    const { code, stdout, stderr } = await run('export', ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(fault);
  });
});

describe('export --cluster', () => {
  const spec = { mode: 'Deny', taints: [{ key: 'dedicated' }] };
  const stored = (name: string, rest: object) => ({
    metadata: { name, uid: name, generation: 2, resourceVersion: '7' },
    ...rest,
  });

  const UNUSABLE = {
    ...{ type: 'Ready', status: 'False', reason: 'EarlierInForce', observedGeneration: 2 },
    message: 'generation 1 stays in force until taintkeeper restarts; generation 2 cannot be used: spec.mode: no',
  };

  async function exportFrom(policies: readonly object[], gitVersion = 'v1.34.2', ...args: string[]) {
    const api = await startFakeApi(({ path }, response) => {
      if (path === '/version') return answer(response, { gitVersion });
      const items = path.endsWith('/taintpolicies') ? policies : [];
      answer(response, { metadata: { resourceVersion: '9' }, items });
    });
    return run('export', '--cluster', '--kubeconfig', (await clientFor(api.url)).file, ...args);
  }

  it('exports what is in force there, for its version of Kubernetes', async () => {
    const { code, stdout, stderr } = await exportFrom([
      stored('plain', { spec }),
      stored('backed', { spec: { ...spec, backstop: 'Native' } }),
      stored('spoiled', { spec: { mode: 'Never' }, status: { conditions: [UNUSABLE] } }),
    ]);
    expect(code, stderr).toBe(0);
    expect([...new Set(manifestsIn(stdout).map(({ metadata }) => metadata.name.split('.')[0]))]).toEqual([
      'plain',
      'backed',
    ]);
    expect(manifestsIn(stdout).some(({ apiVersion }) => apiVersion.endsWith('/v1beta1'))).toBe(true);
    const told = stderr.split('\n');
    expect(told[0]).toMatch(
      /^taintkeeper: exported 2 policies of http:\S+, for Kubernetes 1\.34: TaintPolicy plain, TaintPolicy backed$/,
    );
    expect(told.slice(1, 3)).toEqual([
      'taintkeeper: TaintPolicy backed: the leader writes objects of these names itself, so do not apply both',
      `taintkeeper: TaintPolicy spoiled is left out: ${UNUSABLE.message}`,
    ]);
  });

  it('says that the installation itself only reports', async () => {
    const { stderr } = await exportFrom([stored('plain', { spec, status: { audit: true } })]);
    expect(stderr).toContain(
      'taintkeeper runs with --audit: policies only report. The exported objects act in the modes of the policies',
    );
  });

  it.each([
    { what: 'no policy', policies: [], fault: 'no policy is in force there' },
    { what: 'an old API server', policies: [stored('a', { spec })], version: 'v1.29.4', fault: 'needs 1.30 or newer' },
    {
      what: 'an API server that reads none from files',
      policies: [stored('a', { spec })],
      args: ['--as', 'static-manifests', '--directory', directory],
      fault: 'Kubernetes 1.34 reads no policies from files',
    },
  ])('refuses $what', async ({ policies, version, args = [], fault }) => {
    const { code, stdout, stderr } = await exportFrom(policies, version, ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(fault);
  });

  it('says where taintkeeper is not installed', async () => {
    const api = await startFakeApi(({ path }, response) =>
      path === '/version'
        ? answer(response, { gitVersion: 'v1.36.3' })
        : answer(response, refusal(404, 'NotFound', 'the server could not find the requested resource'), 404),
    );
    const { code, stderr } = await run('export', '--cluster', '--kubeconfig', (await clientFor(api.url)).file);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'taintkeeper: the cluster has no TaintPolicies: taintkeeper is not installed there\n',
    });
  });
});
