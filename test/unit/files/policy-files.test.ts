import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { BUILTIN_POLICY_FILES, readBuiltinPolicies } from '../../../src/files/builtin-policies.ts';
import { InputError } from '../../../src/files/input-error.ts';
import { parsePolicies, readPolicyFiles } from '../../../src/files/policy-files.ts';
import { listFiles } from '../../../src/files/text-files.ts';
import { TOLERATION_POLICY_YAML, taintPolicyYaml } from '../reviews.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** A temporary directory with these files; a name that ends with a slash makes a directory. */
function directoryOf(files: Record<string, string>): string {
  const directory = temporaryDirectory();
  for (const [name, text] of Object.entries(files)) {
    if (name.endsWith('/')) mkdirSync(join(directory, name));
    else writeFileSync(join(directory, name), text);
  }
  return directory;
}

function faults(sources: Record<string, string>): readonly string[] {
  try {
    parsePolicies(Object.entries(sources).map(([name, text]) => ({ name, text })));
  } catch (error) {
    if (error instanceof InputError) return error.faults;
    throw error;
  }
  return [];
}

describe('listFiles', () => {
  it("gives a directory's YAML and JSON files by name, no hidden ones, and nothing below it", async () => {
    const directory = directoryOf({
      'b.yaml': '',
      'a.yml': '',
      'c.json': '',
      'README.md': '',
      'd.yaml.bak': '',
      '.b.yaml': '',
      '.yaml': '',
      '..c.json': '',
      'sub/': '',
    });
    writeFileSync(join(directory, 'sub', 'e.yaml'), '');

    expect(await listFiles([directory])).toEqual(['a.yml', 'b.yaml', 'c.json'].map((name) => join(directory, name)));
  });

  it('gives a file as it is named, whatever its ending, or hidden, and keeps the order of the paths', async () => {
    const directory = directoryOf({ policies: '', 'z.yaml': '', '.hidden.yaml': '' });
    const paths = ['z.yaml', 'policies', '.hidden.yaml'].map((name) => join(directory, name));

    expect(await listFiles(paths)).toEqual(paths);
  });

  it('gives a file once that several paths name, such as its directory', async () => {
    const directory = directoryOf({ 'a.yaml': '', 'b.yaml': '' });
    const [a, b] = ['a.yaml', 'b.yaml'].map((name) => join(directory, name));

    expect(await listFiles([`${directory}/./b.yaml`, directory, `${a}`])).toEqual([`${directory}/./b.yaml`, a]);
    expect(await listFiles([directory, `${b}`])).toEqual([a, b]);
    expect(await listFiles(['-', directory])).toEqual(['-', a, b]);
  });

  it('follows the links of a mounted ConfigMap, and takes each file once', async () => {
    const directory = directoryOf({ '..2026_06_01/': '' });
    writeFileSync(join(directory, '..2026_06_01', 'a.yaml'), taintPolicyYaml('Deny'));
    symlinkSync('..2026_06_01', join(directory, '..data'));
    symlinkSync(join('..data', 'a.yaml'), join(directory, 'a.yaml'));

    expect(await readPolicyFiles([directory])).toEqual([
      { name: join(directory, 'a.yaml'), text: taintPolicyYaml('Deny') },
    ]);
  });

  it('names a path that is not there', async () => {
    const path = join(temporaryDirectory(), 'none');

    await expect(listFiles([path])).rejects.toThrow(new InputError([`${path}: not found`]));
  });
});

it.each([
  { why: 'a link to nowhere', make: (path: string) => symlinkSync('nowhere', path), says: 'not found' },
  { why: 'a directory of that name', make: (path: string) => mkdirSync(path), says: 'is a directory' },
])('a file that cannot be read, $why, is named', async ({ make, says }) => {
  const directory = temporaryDirectory();
  const path = join(directory, 'a.yaml');
  make(path);

  await expect(readPolicyFiles([directory])).rejects.toThrow(`${path}: ${says}`);
});

describe('parsePolicies', () => {
  it('reads the policies of all documents of all sources, in order', () => {
    const policies = parsePolicies([
      { name: 'a.yaml', text: `${taintPolicyYaml('Deny')}---\n# nothing\n---\n${TOLERATION_POLICY_YAML}` },
      {
        name: 'b.json',
        text: JSON.stringify({
          apiVersion: 'taintkeeper.dev/v1alpha1',
          kind: 'TaintPolicy',
          metadata: { name: 'json' },
          spec: { mode: 'Audit', taints: [{ key: 'a' }] },
        }),
      },
    ]);

    expect(policies.map(({ kind, name }) => `${kind}/${name}`)).toEqual([
      'TaintPolicy/keep-deny',
      'TolerationPolicy/cni',
      'TaintPolicy/json',
    ]);
  });

  describe('of a list, as kubectl get writes one, which a backup is,', () => {
    const item = (name: string, mode: string) => ({
      apiVersion: 'taintkeeper.dev/v1alpha1',
      kind: 'TaintPolicy',
      metadata: { name, uid: 'u', resourceVersion: '7' },
      spec: { mode, taints: [{ key: 'a' }] },
      status: { matched: 1 },
    });
    const list = (...items: readonly object[]) => stringify({ apiVersion: 'v1', kind: 'List', items });

    it('are the items, beside other documents', () => {
      const policies = parsePolicies([
        { name: 'a.yaml', text: `${list(item('a', 'Deny'), item('b', 'Audit'))}---\n${TOLERATION_POLICY_YAML}` },
      ]);
      expect(policies.map(({ name }) => name)).toEqual(['a', 'b', 'cni']);
    });

    it('need not say what they are where the list says it, as the API server writes one', () => {
      const { metadata, spec } = item('a', 'Deny');
      const typed = { apiVersion: 'taintkeeper.dev/v1alpha1', kind: 'TaintPolicyList', items: [{ metadata, spec }] };
      expect(parsePolicies([{ name: 'a.json', text: JSON.stringify(typed) }])).toMatchObject([{ name: 'a' }]);
    });

    it('are told by their place in it when they are wrong', () => {
      const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } };
      expect(faults({ 'a.yaml': list(item('a', 'Deny'), item('b', 'deny'), node, item('a', 'Deny')) })).toEqual([
        'a.yaml:23:7: items[1].spec.mode: expected Deny or Restore or Audit, got "deny"',
        'a.yaml:29:5: items[2].kind: expected kind TaintPolicy, TolerationPolicy, TolerationRestriction or RecoveryPolicy, got "Node"',
        'a.yaml:35:7: TaintPolicy "a" is already defined at a.yaml:7:7',
      ]);
    });

    it('have to be objects, and some', () => {
      expect(faults({ 'a.yaml': list('text' as never) })).toEqual([
        'a.yaml:4:5: expected a Kubernetes object with apiVersion and kind',
      ]);
      expect(faults({ 'a.yaml': list() })).toEqual(['no policy found: nothing would be protected']);
    });
  });

  it('allows one name for policies of two kinds', () => {
    expect(faults({ 'a.yaml': `${taintPolicyYaml('Deny', 'cni')}---\n${TOLERATION_POLICY_YAML}` })).toEqual([]);
  });

  it('refuses a second policy of a kind and name, and says where both are', () => {
    expect(
      faults({ 'a.yaml': taintPolicyYaml('Deny', 'twice'), 'b.yaml': `\n${taintPolicyYaml('Audit', 'twice')}` }),
    ).toEqual(['b.yaml:5:3: TaintPolicy "twice" is already defined at a.yaml:4:3']);
  });

  it('reports everything that is wrong, in every source, with its place', () => {
    const bad = `apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata:
  name: bad
spec:
  mode: deny
  taints:
    - key: a
      effect: NoSchedul
    - kye: b
`;
    expect(
      faults({
        'a.yaml': bad,
        'b.yaml': 'a: [',
        'c.yaml': 'kind: Pod',
        'd.yaml': 'text',
        'e.yaml': taintPolicyYaml('Deny'),
      }),
    ).toEqual([
      'a.yaml:6:3: spec.mode: expected Deny or Restore or Audit, got "deny"',
      'a.yaml:9:7: spec.taints[0].effect: expected NoSchedule or PreferNoSchedule or NoExecute, got "NoSchedul"',
      'a.yaml:10:7: spec.taints[1]: key is missing',
      'a.yaml:10:7: spec.taints[1].kye: unknown field; known here: key, except, value, effect, ensure, readyWhen, afterReboot',
      expect.stringMatching(/^b\.yaml:1:\d: Flow sequence/),
      'c.yaml:1:1: kind: expected kind TaintPolicy, TolerationPolicy, TolerationRestriction or RecoveryPolicy, got "Pod"',
      'd.yaml:1:1: expected kind TaintPolicy, TolerationPolicy, TolerationRestriction or RecoveryPolicy, got nothing',
    ]);
  });

  it.each<{ why: string; sources: Record<string, string> }>([
    { why: 'no source', sources: {} },
    { why: 'sources without a document', sources: { 'a.yaml': '', 'b.yaml': '# to be written\n---\n' } },
  ])('refuses $why: nothing would be protected', ({ sources }) => {
    expect(faults(sources)).toEqual(['no policy found: nothing would be protected']);
  });

  it('says only what is wrong where there is no policy for that reason', () => {
    expect(faults({ 'a.yaml': 'a: [' })).toEqual([expect.stringMatching(/^a\.yaml:1:\d: Flow sequence/)]);
  });

  it.each(['\u0000\u0001\uFFFD', '[1, 2]', '7', '{}'])('refuses %j', (text) => {
    expect(faults({ 'a.yaml': text })).toEqual([expect.stringMatching(/^a\.yaml:1:\d: expected kind TaintPolicy/)]);
  });
});

it('the built-in policies protect the control plane and let the network run', async () => {
  const policies = parsePolicies(await readBuiltinPolicies());

  expect(policies.map(({ kind, name, spec }) => `${kind}/${name} ${spec.mode}`)).toEqual([
    'TaintPolicy/control-plane-taints Deny',
    'TolerationPolicy/cni-tolerations Mutate',
  ]);
  expect(policies).toHaveLength(BUILTIN_POLICY_FILES.length);
});
