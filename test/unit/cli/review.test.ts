import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import {
  CONTROL_PLANE_TAINT,
  daemonSetCreationReview,
  daemonSetObject,
  harmlessReview,
  nodeObject,
  taintPolicyYaml,
  taintRemovalReview,
} from '../reviews.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { run, runWithInput } from './run-command.ts';

/** The path of a temporary file with this text, or these objects as JSON documents. */
function file(...contents: (string | object)[]): string {
  const path = join(temporaryDirectory(), 'input.yaml');
  writeFileSync(path, contents.map((part) => (typeof part === 'string' ? part : JSON.stringify(part))).join('\n---\n'));
  return path;
}

const tainted = nodeObject([CONTROL_PLANE_TAINT]);
const untainted = nodeObject([]);
const allowing = nodeObject([CONTROL_PLANE_TAINT], {
  annotations: { 'taintkeeper.dev/allow-removal': 'node-role.kubernetes.io/control-plane:NoSchedule' },
});
const flannel = daemonSetObject([
  { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists', effect: 'NoSchedule' },
]);
const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } };
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } };

describe('files that cannot be read', () => {
  /** A folder with these files beside one that is allowed, and one that is denied or patched. */
  function folder(files: Readonly<Record<string, string>>): string {
    const directory = temporaryDirectory();
    const good = { 'a.json': JSON.stringify(flannel), 'z.json': JSON.stringify(nodeObject([], { name: 'worker' })) };
    for (const [name, text] of Object.entries({ ...good, ...files })) writeFileSync(join(directory, name), text);
    return directory;
  }

  it.each<{ why: string; text: string; said: RegExp }>([
    {
      why: 'a template of Helm',
      text: 'kind: DaemonSet\nmetadata:\n  name: {{ include "agent.name" . }}\nspec:\n  {{- with .Values.x }}\n  a: {{ . }}\n  {{- end }}\n',
      said: /^taintkeeper: .*\/m\.yaml:3:9: this is a template: render it first, for example with helm template\n$/,
    },
    {
      why: 'a template that is YAML',
      text: 'apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: "agent-{{ .Release.Name }}"}\nspec: {}\n',
      said: /^taintkeeper: .*\/m\.yaml:3:12: this is a template: render it first, for example with helm template\n$/,
    },
    {
      why: 'values of a chart',
      text: 'image: x\n',
      said: /^taintkeeper: .*\/m\.yaml:1:1: expected a Kubernetes object with apiVersion and kind\n$/,
    },
    { why: 'a syntax error', text: 'a: [\n', said: /^taintkeeper: .*\/m\.yaml:2:1: .*\n$/ },
    {
      why: 'a malformed object',
      text: 'apiVersion: v1\nkind: Node\nmetadata: {name: n}\nspec: {taints: 7}\n',
      said: /^taintkeeper: .*\/m\.yaml:4:8: spec\.taints: .*\n$/,
    },
  ])('hide no result of the others, and end in 2: $why', async ({ text, said }) => {
    const { code, stdout, stderr } = await run('review', folder({ 'm.yaml': text }));
    expect(stdout).toMatch(/^daemonsets\/kube-flannel\/kube-flannel-ds .*patched/m);
    expect(stdout).toMatch(/^nodes\/worker +CREATE +allowed/m);
    expect(stderr).toMatch(said);
    expect(code).toBe(2);
  });

  it('are no templates for an alert, or the arguments of a container', async () => {
    const rule = 'apiVersion: m/v1\nkind: PrometheusRule\nmetadata: {name: r}\nspec: {summary: "{{ $labels.node }}"}\n';
    const pod =
      'apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {a: "{{ b }}"}}\nspec: {containers: [{args: ["--template={{.Name}}"]}]}\n';
    expect(await run('review', folder({ 'm.yaml': rule, 'n.yaml': pod }))).toMatchObject({ code: 0, stderr: '' });
  });

  it('alone, print nothing but why', async () => {
    const { code, stdout, stderr } = await run('review', file('a: {{ b }}\n'));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/input\.yaml:1:4: this is a template/);
  });
});

describe('a DaemonSet whose tolerations the API server refuses', () => {
  const refused = daemonSetObject([{ key: 'dedicated', operator: 'exists', effect: 'NoSchedule' }]);
  const TEXT =
    'the API server refuses spec.template.spec.tolerations[0].operator: "exists" is not valid, write Exists: operator must be Equal or Exists (Gt and Lt depend on a feature gate)';

  it('is refused, whatever the policies add, and ends in 1', async () => {
    const { code, stdout } = await run('review', '--patched', file(refused));
    expect(code).toBe(1);
    expect(stdout).toMatch(/^daemonsets\/kube-flannel\/kube-flannel-ds +CREATE +refused /m);
    expect(stdout).toContain(TEXT);
    expect(stdout).not.toContain('---');
  });

  it('is refused in an update, and as an AdmissionReview', async () => {
    const update = await run('review', '--old', file(refused), '--new', file(refused));
    expect(update).toMatchObject({ code: 1, stdout: expect.stringContaining(TEXT) });
    const created = await run('review', file(daemonSetCreationReview([{ effect: 'NoSchedule' }])));
    expect(created).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('without a key, operator must be Exists'),
    });
  });

  it('is an error for pipelines, at the field', async () => {
    const path = file(refused);
    const { stdout: github } = await run('review', '-o', 'github', path);
    expect(github).toMatch(
      /^::error file=.*,line=1,col=\d+,title=Kubernetes validation%3A daemonsets\/kube-flannel\/kube-flannel-ds::the API/,
    );
    const [result] = JSON.parse((await run('review', '-o', 'sarif', path)).stdout).runs[0].results;
    expect(result).toMatchObject({ ruleId: 'Kubernetes validation', level: 'error' });
    const { reviewed } = JSON.parse((await run('review', '-o', 'json', path)).stdout);
    expect(reviewed).toMatchObject([
      { result: 'refused', refusals: [{ field: 'spec.template.spec.tolerations[0].operator' }] },
    ]);
  });
});

it('JSON objects in a row are all judged', async () => {
  const stream = [untainted, flannel].map((object) => JSON.stringify(object, null, 2)).join('\n');
  const { code, stdout } = await runWithInput(stream, 'review', '-');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^nodes\/cp-1 +CREATE/m);
  expect(stdout).toMatch(/^daemonsets\/kube-flannel\/kube-flannel-ds +CREATE/m);
});

describe('with the built-in policies', () => {
  it.each<{ why: string; contents: (string | object)[]; code: number; rows: RegExp[] }>([
    {
      why: 'a denied AdmissionReview ends in 1',
      contents: [taintRemovalReview()],
      code: 1,
      rows: [
        /^OBJECT +OPERATION +RESULT +POLICY +WHAT$/,
        /^nodes\/cp-1 +UPDATE +denied +control-plane-taints +denied node-role\.kubernetes\.io\/control-plane:NoSchedule$/,
        /^$/,
        /^node cp-1: removing taint node-role\.kubernetes\.io\/control-plane:NoSchedule is not allowed \(TaintPolicy "control-plane-taints"/,
      ],
    },
    {
      why: 'an allowed AdmissionReview ends in 0',
      contents: [harmlessReview()],
      code: 0,
      rows: [/^OBJECT +OPERATION +RESULT/, /^nodes\/cp-1 +UPDATE +allowed$/],
    },
    {
      why: 'a patched DaemonSet ends in 0',
      contents: [flannel],
      code: 0,
      rows: [
        /^OBJECT/,
        /^daemonsets\/kube-flannel\/kube-flannel-ds +CREATE +patched +cni-tolerations +added node-role\.kubernetes\.io\/master:NoSchedule/,
      ],
    },
    {
      why: 'a patch of annotations alone is shown, too',
      contents: [allowing],
      code: 0,
      rows: [/^OBJECT/, /^nodes\/cp-1 +CREATE +patched +unannotated taintkeeper\.dev\/allow-removal$/],
    },
    {
      why: 'of several documents each has its rows',
      contents: [taintRemovalReview(), flannel, pod, configMap, untainted, configMap],
      code: 1,
      rows: [
        /^OBJECT/,
        /^nodes\/cp-1 +UPDATE +denied/,
        /^daemonsets\/kube-flannel\/kube-flannel-ds +CREATE +patched/,
        /^nodes\/cp-1 +CREATE +allowed$/,
        /^$/,
        /removing taint/,
        /^$/,
        /^not judged: 1 Pod, 2 ConfigMap$/,
      ],
    },
    {
      why: 'a List is its items',
      contents: [{ apiVersion: 'v1', kind: 'List', items: [flannel, untainted, pod, pod] }],
      code: 0,
      rows: [/^OBJECT/, /^daemonsets.*patched/, /^nodes\/cp-1 +CREATE +allowed$/, /^$/, /^not judged: 2 Pod$/],
    },
    {
      why: 'a NodeList without item kinds is its nodes',
      contents: [
        { apiVersion: 'v1', kind: 'NodeList', items: [{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }] },
      ],
      code: 0,
      rows: [/^OBJECT/, /^nodes\/a +CREATE +allowed$/, /^nodes\/b +CREATE +allowed$/],
    },
    { why: 'what is not judged is said alone', contents: [pod], code: 0, rows: [/^$/, /^not judged: 1 Pod$/] },
  ])('$why', async ({ contents, code, rows }) => {
    const outcome = await run('review', file(...contents));

    expect([outcome.code, outcome.stderr]).toEqual([code, '']);
    expect(outcome.stdout.split('\n').slice(0, -1)).toEqual(rows.map((row) => expect.stringMatching(row)));
  });

  it.each(['', 'apiVersion: v1\nkind: List\nitems: []\n'])(
    'nothing to judge is not found to be right: %j',
    async (text) => {
      const path = file(text);
      expect(await run('review', path)).toEqual({
        code: 2,
        stdout: '',
        stderr: `taintkeeper: ${path}: nothing to judge\n`,
      });
    },
  );

  it('several files are one review', async () => {
    const { code, stdout } = await run('review', file(untainted), file(flannel), file(taintRemovalReview()));

    expect(code).toBe(1);
    expect(stdout.match(/^(nodes|daemonsets)\/.*/gm)).toHaveLength(3);
  });

  it('a namespace that a DaemonSet lacks is taken from --namespace', async () => {
    const path = file(daemonSetObject([], { namespace: undefined }));

    expect((await run('review', path)).stdout).toMatch(/daemonsets\/default\/kube-flannel-ds +CREATE +allowed/);
    expect((await run('review', '-n', 'kube-flannel', path)).stdout).toMatch(/daemonsets\/kube-flannel\/.* +patched/);
  });

  it('standard input is -', async () => {
    const denied = await runWithInput(JSON.stringify(taintRemovalReview()), 'review', '-');
    const node = 'apiVersion: v1\nkind: Node\nmetadata: { name: a }\n';
    const allowed = await runWithInput(node, 'review', '-o', 'json', '-');

    expect(denied).toMatchObject({ code: 1, stderr: '', stdout: expect.stringMatching(/nodes\/cp-1 +UPDATE +denied/) });
    expect(JSON.parse(allowed.stdout)).toMatchObject({ reviewed: [{ name: 'a', result: 'allowed' }] });
    expect(allowed.code).toBe(0);
  });
});

describe('--old and --new', () => {
  it('judge the update between two manifests', async () => {
    const { code, stdout } = await run('review', '--old', file(tainted), '--new', file(untainted));

    expect(code).toBe(1);
    expect(stdout).toMatch(/nodes\/cp-1 +UPDATE +denied/);
  });

  it('judge it as made by --user and --group', async () => {
    const policies = file(`${taintPolicyYaml('Deny')}  exempt: { users: ['robot:*'], groups: [breakers] }\n`);
    const update = ['review', '--policies', policies, '--old', file(tainted), '--new', file(untainted)];

    expect((await run(...update)).code).toBe(1);
    expect((await run(...update, '--user', 'robot:7')).code).toBe(0);
    expect((await run(...update, '--group', 'others', '--group', 'breakers')).code).toBe(0);
    expect((await run(...update, '--group', 'others')).code).toBe(1);
  });

  it('show where an object has no counterpart', async () => {
    const [before, after] = [file(tainted), file(nodeObject([], { name: 'cp-2' }))];

    expect(await run('review', '--old', before, '--new', after)).toEqual({
      code: 2,
      stdout: '',
      stderr: `taintkeeper: ${after}:1:1: nodes/cp-2 has no old object to compare with\n`,
    });
  });
});

describe('the policies', () => {
  it('are those of --policies only, which may be repeated', async () => {
    const [audit, restore] = [file(taintPolicyYaml('Audit')), file(taintPolicyYaml('Restore'))];
    const removal = file(taintRemovalReview());

    expect(await run('review', '--policies', audit, removal)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/allowed +keep-audit +audited /),
    });
    expect(await run('review', '--policies', audit, '--policies', restore, removal)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/patched +keep-restore +restored /),
    });
    expect((await run('review', '--policies', audit, file(daemonSetCreationReview([])))).stdout).toMatch(/ allowed$/m);
  });
});

describe('output', () => {
  it.each(['json', 'yaml'])('as %s has everything as data', async (format) => {
    const { code, stdout } = await run(
      'review',
      '-o',
      format,
      file(taintRemovalReview(), flannel, pod, configMap, pod),
    );
    const data = format === 'json' ? JSON.parse(stdout) : parse(stdout);

    expect(code).toBe(1);
    expect(data).toEqual({
      reviewed: [
        {
          resource: 'nodes',
          name: 'cp-1',
          operation: 'UPDATE',
          result: 'denied',
          message: expect.stringContaining('removing taint'),
          violations: [
            {
              policyKind: 'TaintPolicy',
              policy: 'control-plane-taints',
              field: 'spec.taints[0]',
              mode: 'Deny',
              change: 'Removal',
              result: 'Denied',
              audit: false,
              subject: 'node-role.kubernetes.io/control-plane:NoSchedule',
            },
          ],
          warnings: [],
          patch: [],
        },
        {
          resource: 'daemonsets',
          namespace: 'kube-flannel',
          name: 'kube-flannel-ds',
          operation: 'CREATE',
          result: 'patched',
          violations: [expect.objectContaining({ change: 'Missing', result: 'Added', audit: false })],
          warnings: ['TolerationPolicy cni-tolerations added toleration node-role.kubernetes.io/master:NoSchedule'],
          patch: [
            {
              op: 'add',
              path: '/spec/template/spec/tolerations/1',
              value: { key: 'node-role.kubernetes.io/master', operator: 'Exists', effect: 'NoSchedule' },
            },
          ],
        },
      ],
      others: ['Pod', 'ConfigMap', 'Pod'],
    });
  });

  it('with --patched has the objects as they come out of admission', async () => {
    const path = file(flannel, untainted);
    const json = JSON.parse((await run('review', '--patched', '-o', 'json', path)).stdout);
    const [, ...tableDocuments] = parseAllDocuments((await run('review', '--patched', path)).stdout);

    const patched = structuredClone(flannel);
    (patched.spec.template.spec.tolerations as object[]).push({
      key: 'node-role.kubernetes.io/master',
      operator: 'Exists',
      effect: 'NoSchedule',
    });
    expect(json.reviewed.map(({ object }: { object: object }) => object)).toEqual([patched, untainted]);
    expect(tableDocuments.map((document) => document.toJS())).toEqual([patched, untainted]);
  });

  it('with --patched has nothing of an object that is denied: it does not come out of admission', async () => {
    const path = file(taintRemovalReview(), flannel);
    const json = JSON.parse((await run('review', '--patched', '-o', 'json', path)).stdout);
    const { stdout } = await run('review', '--patched', path);

    expect(json.reviewed.map((one: object) => 'object' in one)).toEqual([false, true]);
    expect(stdout.match(/^kind: .*/gm)).toEqual(['kind: DaemonSet']);
  });

  it('holds no control characters of a name or a kind', async () => {
    const forging = 'a\u001B[31m\nnodes/forged  CREATE  denied';
    const { stdout } = await run(
      'review',
      file(nodeObject([], { name: forging }), { apiVersion: 'v1', kind: forging }),
    );

    expect(stdout.split('\n')).toHaveLength(5);
    expect(stdout).not.toContain('\u001B');
  });
});

it('takes the files of a directory, and files that are named as kubectl has it', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'a.yaml'), JSON.stringify(flannel));
  writeFileSync(join(directory, 'README.md'), 'no manifest');
  const expected = ['nodes/cp-1  CREATE  allowed', 'daemonsets/kube-flannel/kube-flannel-ds  CREATE  patched'];
  for (const args of [
    [file(tainted), directory],
    ['-f', file(tainted), '--filename', directory],
  ]) {
    const { code, stdout } = await run('review', ...args);
    const rows = stdout.split('\n').filter((row) => row.includes('/'));
    expect(rows.map((row) => row.split(/ +/).slice(0, 3).join('  '))).toEqual(expected);
    expect(code).toBe(0);
  }
});

describe('bad input ends in code 2, and one line says where and why:', () => {
  it.each<{ why: string; args: () => string[]; stderr: string | RegExp }>([
    { why: 'no file', args: () => [], stderr: /^taintkeeper: no input files: pass FILE/ },
    {
      why: 'a file that is not there',
      args: () => ['/none/such'],
      stderr: /^taintkeeper: \/none\/such: not found\n$/,
    },
    { why: 'an empty directory', args: () => [temporaryDirectory()], stderr: /: nothing to judge\n$/ },
    { why: '--old alone', args: () => ['--old', file(tainted)], stderr: 'taintkeeper: --old and --new go together\n' },
    { why: '--new alone', args: () => ['--new', file(tainted)], stderr: 'taintkeeper: --old and --new go together\n' },
    {
      why: '--old, --new and a file',
      args: () => ['--old', file(tainted), '--new', file(tainted), 'more.yaml'],
      stderr: 'taintkeeper: --old and --new take no further files, such as more.yaml\n',
    },
    { why: 'a syntax error', args: () => [file('a: [\n')], stderr: /^taintkeeper: .*input\.yaml:2:1: Flow sequence/ },
    { why: 'what is no object', args: () => [file('7')], stderr: /input\.yaml:1:1: expected a Kubernetes object/ },
    {
      why: 'taints that are no list',
      args: () => [file('apiVersion: v1\nkind: Node\nmetadata:\n  name: a\nspec:\n  taints: all\n')],
      stderr: /input\.yaml:6:3: spec\.taints: expected a list, got "all"\n$/,
    },
    {
      why: 'a taint without effect',
      args: () => [file('apiVersion: v1\nkind: Node\nmetadata: {}\nspec:\n  taints:\n    - key: a\n')],
      stderr: /input\.yaml:6:7: spec\.taints\[0\]: effect is missing\n$/,
    },
    {
      why: 'a taint without effect in a list',
      args: () => [
        file(
          'apiVersion: v1\nkind: NodeList\nitems:\n- metadata: {}\n- metadata: {}\n  spec: { taints: [{ key: a }] }\n',
        ),
      ],
      stderr: /input\.yaml:6:20: items\[1\]\.spec\.taints\[0\]: effect is missing\n$/,
    },
    {
      why: 'a review whose object cannot be read',
      args: () => [file(taintRemovalReview({ object: nodeObject('all') }))],
      stderr: /input\.yaml:1:\d+: request\.object\.spec\.taints: expected a list, got "all"\n$/,
    },
    {
      why: 'an old object that cannot be read',
      args: () => ['--old', file('# old\n', nodeObject('all')), '--new', file(tainted)],
      stderr: /input\.yaml:4:\d+: spec\.taints: expected a list, got "all"\n$/,
    },
    {
      why: 'the same object twice among the new ones',
      args: () => ['--old', file(tainted), '--new', file(tainted, untainted)],
      stderr: /input\.yaml:3:1: nodes\/cp-1 is there twice\n$/,
    },
    {
      why: 'a policy among the manifests',
      args: () => [file(untainted, taintPolicyYaml('Deny'))],
      stderr: /input\.yaml:3:1: this is a TaintPolicy: name its file with --policies\n$/,
    },
    {
      why: 'an asterisk without quotes',
      args: () => ['--policies', file(taintPolicyYaml('Deny').replace('node-role', '*.node-role')), file(tainted)],
      stderr: /input\.yaml:8:12: \*\.node-role\S* has no anchor: a text that begins with "\*" needs quotes\n$/,
    },
    {
      why: 'a directory without a policy',
      args: () => ['--policies', temporaryDirectory(), file(tainted)],
      stderr: 'taintkeeper: no policy found: nothing would be protected\n',
    },
    {
      why: 'a review that is v1beta1',
      args: () => [file({ ...taintRemovalReview(), apiVersion: 'admission.k8s.io/v1beta1' })],
      stderr: /input\.yaml:1:1: expected apiVersion admission\.k8s\.io\/v1/,
    },
    {
      why: 'policies that are not there',
      args: () => ['--policies', '/none', file(tainted)],
      stderr: /^taintkeeper: \/none: not found\n$/,
    },
    {
      why: 'broken policies',
      args: () => ['--policies', file(taintPolicyYaml('Deny').replace('Deny', 'deny')), file(tainted)],
      stderr: /input\.yaml:6:3: spec\.mode: expected Deny or Restore or Audit, got "deny"\n$/,
    },
  ])('$why', async ({ args, stderr }) => {
    const outcome = await run('review', ...args());

    expect(outcome).toEqual({
      code: 2,
      stdout: '',
      stderr: typeof stderr === 'string' ? stderr : expect.stringMatching(stderr),
    });
    expect(outcome.stderr.match(/\n/g)).toHaveLength(1);
  });

  it('each of several faults has a line', async () => {
    const policies = file(`${taintPolicyYaml('Deny').replace('Deny', 'deny')}    - kye: a\n`);
    const { code, stderr } = await run('review', '--policies', policies, file(tainted));

    expect(code).toBe(2);
    expect(stderr.trimEnd().split('\n')).toEqual(
      Array(3).fill(expect.stringMatching(/^taintkeeper: .*input\.yaml:\d+:\d+: /)),
    );
  });
});

describe('for pipelines', () => {
  const denied = taintRemovalReview();
  const reviewed = (format: string, ...contents: (string | object)[]) => run('review', '-o', format, file(...contents));

  it('SARIF has a result for each violation, where its object stands', async () => {
    const { code, stdout } = await reviewed('sarif', denied, flannel);
    expect(code).toBe(1);
    const [{ tool, results }] = JSON.parse(stdout).runs;
    expect(tool.driver).toMatchObject({
      name: 'taintkeeper review',
      rules: [{ id: 'TaintPolicy control-plane-taints' }, { id: 'TolerationPolicy cni-tolerations' }],
    });
    expect(results).toMatchObject([
      {
        ruleId: 'TaintPolicy control-plane-taints',
        ruleIndex: 0,
        level: 'error',
        message: { text: expect.stringMatching(/^nodes\/cp-1: node cp-1: removing taint /) },
        locations: [{ physicalLocation: { region: { startLine: 1 } } }],
        properties: { field: 'spec.taints[0]', mode: 'Deny', change: 'Removal', result: 'Denied', audit: 'false' },
      },
      {
        ruleIndex: 1,
        level: 'warning',
        message: {
          text: 'daemonsets/kube-flannel/kube-flannel-ds: added node-role.kubernetes.io/master:NoSchedule',
        },
        locations: [{ physicalLocation: { region: { startLine: 3 } } }],
      },
    ]);
  });

  it('GitHub gets an annotation for each violation', async () => {
    const { stdout } = await reviewed('github', denied);
    expect(stdout).toMatch(
      /^::error file=.*,line=1,col=\d+,title=TaintPolicy control-plane-taints%3A nodes\/cp-1::node cp-1: removing taint .*\n$/,
    );
  });

  it.each(['sarif', 'github'])('%s has no place for objects', async (format) => {
    const { code, stderr } = await run('review', '-o', format, '--patched', file(flannel));
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `taintkeeper: --patched needs another output than ${format}, which has no place for objects\n`,
    });
  });
});

it('says what the API server asks about pods, which it does not know itself', async () => {
  const policy = {
    apiVersion: 'taintkeeper.dev/v1alpha1',
    kind: 'TolerationRestriction',
    metadata: { name: 'p' },
    spec: { mode: 'Deny', taints: [{ key: 'gpu' }] },
  };
  const spec = { tolerations: [{ operator: 'Exists' }] };
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd' },
    spec: { template: { spec } },
  };
  const { code, stderr } = await run(
    'review',
    '--policies',
    file(policy),
    '-n',
    'team',
    file({ ...pod, spec }, deployment),
  );
  const rule = 'TolerationRestriction p (spec.taints[0], Deny) asks whether service account team/default';
  expect(stderr.trim().split('\n')).toEqual([
    `taintkeeper: Pod team/p tolerates *: ${rule}, or the person who creates it, may tolerate gpu, which is not known here`,
    `taintkeeper: Deployment team/d tolerates *: ${rule} may tolerate gpu, which is not known here`,
  ]);
  expect(code).toBe(0);
});
