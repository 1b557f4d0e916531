import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { parsePolicy } from '../../../src/policy/policy.ts';
import { manifest } from '../policy/policies.ts';
import { daemonSetObject, nodeObject } from '../reviews.ts';
import { temporaryFile } from '../temporary-directory.ts';
import { run, runWithInput } from './run-command.ts';

const MASTER = { key: 'node-role.kubernetes.io/master', effect: 'NoSchedule' };
const GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const STARTUP = { key: 'node.cilium.io/agent-not-ready', effect: 'NoSchedule' };
const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

/** The path of a temporary file with these objects as JSON documents. */
function file(...objects: (object | string)[]): string {
  return temporaryFile(
    'input.yaml',
    objects.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))).join('\n---\n'),
  );
}

const node = (name: string, taints: object[] = [], labels: object = {}) => nodeObject(taints, { name, labels });
const daemonSet = (name: string, podSpec: object = {}, metadata: object = {}) => ({
  ...daemonSetObject([], { namespace: 'agents', name, ...metadata }),
  spec: { template: { spec: podSpec } },
});

const NODES = [node('m', [MASTER]), node('w-10'), node('w-2'), node('g', [GPU], { pool: 'gpu' })];

describe('the table', () => {
  it('has the groups of nodes, the DaemonSets on them, and the gaps', async () => {
    const objects = [...NODES, daemonSet('agent'), daemonSet('gpu', { nodeSelector: { pool: 'gpu' } })];
    const { code, stdout } = await run('coverage', file(...objects));
    expect(stdout.split('\n')).toEqual([
      'GROUP  NODES  WHICH      ROLES  LABELS    TAINTS',
      'A      2      w-2, w-10  -      -         -',
      'B      1      g          -      pool=gpu  dedicated=gpu:NoSchedule',
      'C      1      m          -      -         node-role.kubernetes.io/master:NoSchedule',
      '',
      'DAEMONSET     A         B      C',
      'agents/agent  runs      taint  taint',
      'agents/gpu    selector  taint  selector+taint',
      '',
      'Kept off by taints:',
      'DAEMONSET     NODES  WHICH  TAINTS',
      'agents/agent  1      g      dedicated=gpu:NoSchedule',
      'agents/agent  1      m      node-role.kubernetes.io/master:NoSchedule',
      'agents/gpu    1      g      dedicated=gpu:NoSchedule',
      '',
      '3 gaps: coverage fix prints the policies that close 1 of them; for dedicated add --taint dedicated',
      '',
    ]);
    expect(code).toBe(1);
  });

  it('promises no policies for a DaemonSet that policies leave alone', async () => {
    const ignoring = daemonSet('agent', {}, { annotations: { 'taintkeeper.dev/ignore': 'true' } });
    const { stdout } = await run('coverage', file(...NODES, ignoring));
    expect(stdout).toMatch(/\n2 gaps: coverage fix says why no policy closes them\n$/);
  });

  it('has the roles and taints of nodes in a group that only some of them have', async () => {
    const tolerant = daemonSet('agent', { tolerations: [{ operator: 'Exists' }] });
    const role = (name: string) => ({ [`node-role.kubernetes.io/${name}`]: '' });
    const plane = { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' };
    const nodes = [node('cp-1', [MASTER], role('master')), node('cp-2', [plane], role('control-plane'))];
    const { code, stdout } = await run('coverage', file(...nodes, tolerant));
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      `GROUP  NODES  WHICH       ${'ROLES'.padEnd(39)}  LABELS  TAINTS`,
      'A      2      cp-1, cp-2  control-plane (1 of 2), master (1 of 2)  -       node-role.kubernetes.io/control-plane:NoSchedule (1 of 2), node-role.kubernetes.io/master:NoSchedule (1 of 2)',
    ]);
    expect(code).toBe(0);
  });

  it('has a startup taint that waits for the DaemonSet which it keeps off', async () => {
    const taint = { key: 'startup-taint.cluster-autoscaler.kubernetes.io/network', effect: 'NoSchedule' };
    const readyWhen = { daemonSets: [{ namespace: 'agents', name: 'cni' }] };
    const policy = (taints: object[]) => manifest('TaintPolicy', 'wait-for-cni', { mode: 'Restore', taints });
    const objects = [node('n', [taint]), daemonSet('agent'), daemonSet('cni')];
    const waiting = policy([{ ...taint, ensure: 'UntilReady', readyWhen }]);
    const { code, stdout } = await run('coverage', file(...objects, waiting));
    expect(stdout.split('\n').slice(3)).toEqual([
      'DAEMONSET     A',
      'agents/agent  waits',
      'agents/cni    taint',
      '',
      'Kept off by taints:',
      'DAEMONSET   NODES  WHICH  TAINTS',
      `agents/cni  1      n      ${taint.key}:NoSchedule`,
      '',
      'Kept off for a while, by taints that Kubernetes or an agent removes:',
      'DAEMONSET     NODES  WHICH  TAINTS',
      `agents/agent  1      n      ${taint.key}:NoSchedule`,
      '',
      'Never start, because the taint is removed only when the DaemonSet is ready:',
      `DAEMONSET   ${'TAINT'.padEnd(`${taint.key}:NoSchedule`.length)}  TAINTPOLICY`,
      `agents/cni  ${taint.key}:NoSchedule  wait-for-cni`,
      '',
      `1 gap: where DaemonSets should run there, coverage fix --taint ${taint.key} prints the policies for it`,
      '',
    ]);
    expect(code).toBe(1);
    const invalid = await run('coverage', file(...objects, policy([{ ...taint, ensure: 'Sometimes' }])));
    expect(invalid.code).toBe(0);
    expect(invalid.stdout).toMatch(/^note: .*input\.yaml.*: TaintPolicy is left out: /m);
  });

  it('says where pods run and are evicted each time: no gap, and nothing that a policy can fix', async () => {
    const drained = { key: 'maintenance', effect: 'NoExecute' };
    const tolerations = [{ ...drained, operator: 'Exists', tolerationSeconds: 30 }];
    const { code, stdout } = await run('coverage', file(node('w', [drained]), daemonSet('agent', { tolerations })));
    expect(stdout.split('\n')).toEqual([
      'GROUP  NODES  WHICH  ROLES  LABELS  TAINTS',
      'A      1      w      -      -       maintenance:NoExecute',
      '',
      'DAEMONSET     A',
      'agents/agent  runs (30 s)',
      '',
      'Evicted repeatedly, because of a toleration with tolerationSeconds:',
      'DAEMONSET     NODES  WHICH  TAINT                  AFTER',
      'agents/agent  1      w      maintenance:NoExecute  30 s',
      '',
      'no gaps: no taint keeps a DaemonSet off a node',
      '',
    ]);
    expect(code).toBe(0);
  });

  it('has a line for each DaemonSet on each node with --node', async () => {
    const objects = [
      ...NODES,
      daemonSet('gpu', { nodeSelector: { pool: 'gpu' }, tolerations: [{ operator: 'Exists' }] }),
    ];
    const { code, stdout } = await run('coverage', '--node', 'w*', '--node', 'g', file(...objects));
    expect(stdout.split('\n')).toEqual([
      'DAEMONSET   NODE  COVERAGE  WHY',
      'agents/gpu  g     runs',
      'agents/gpu  w-2   selector  nodeSelector requires pool=gpu, the node has none',
      'agents/gpu  w-10  selector  nodeSelector requires pool=gpu, the node has none',
      '',
      'no gaps: no taint keeps a DaemonSet off a node',
      '',
    ]);
    expect(code).toBe(0);
  });

  it('has only what taints keep off with --gaps', async () => {
    const objects = [...NODES, daemonSet('agent'), daemonSet('everywhere', { tolerations: [{ operator: 'Exists' }] })];
    const { stdout } = await run('coverage', '--gaps', file(...objects));
    expect(stdout).toContain('agents/agent');
    expect(stdout).not.toContain('everywhere');
  });

  it('breaks many groups into blocks', async () => {
    const nodes = Array.from({ length: 12 }, (_, i) => node(`n${i}`, [{ key: `k${i}`, effect: 'NoSchedule' }]));
    const { stdout } = await run('coverage', file(...nodes, daemonSet('agent')));
    const headings = stdout.split('\n').filter((line) => line.startsWith('DAEMONSET ') && !line.includes('NODES'));
    expect(headings.map((line) => line.trim().split(/ +/).slice(1).join(''))).toEqual(['ABCDEFGHIJ', 'KL']);
  });

  it('spells out what could play tricks on a terminal', async () => {
    const { stdout } = await run('coverage', file(node('n\u001b[2J', [GPU]), daemonSet('agent')));
    expect(stdout).toContain('n\\u{1b}[2J');
    expect(stdout).not.toContain('\u001b');
  });
});

describe('workloads that tolerate drained or dead nodes', () => {
  const deployment = (namespace: string, name: string, tolerations: object[]) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace, name },
    spec: { template: { spec: { tolerations } } },
  });
  const input = () =>
    file(
      node('w-1'),
      daemonSet('agent', { tolerations: [{ operator: 'Exists' }] }),
      deployment('agents', 'typha', [{ effect: 'NoSchedule', operator: 'Exists' }]),
      deployment('shop', 'web', [{ operator: 'Exists' }]),
      deployment('shop', 'plain', []),
    );

  it('are listed, and are no gap', async () => {
    const { code, stdout } = await run('coverage', input());
    expect(stdout.split('\n').slice(-7)).toEqual([
      'Tolerate drained or dead nodes:',
      'WORKLOAD                 TOLERATES     RESULT                                               CHANGE',
      'Deployment agents/typha  *:NoSchedule  returns to drained nodes                             replace it with tolerations that each name a key',
      'Deployment shop/web      *             returns to drained nodes; stays bound to dead nodes  replace it with tolerations that each name a key',
      '',
      'no gaps: no taint keeps a DaemonSet off a node',
      '',
    ]);
    expect(code).toBe(0);
  });

  it.each<{ args: string[]; listed: string[] | undefined }>([
    { args: [], listed: ['typha', 'web'] },
    { args: ['-n', 'agents'], listed: ['typha'] },
    { args: ['--gaps'], listed: undefined },
    { args: ['--daemonset', 'agent'], listed: undefined },
    { args: ['--node', 'w-1'], listed: undefined },
  ])('with $args are $listed', async ({ args, listed }) => {
    const { stdout } = await run('coverage', '-o', 'json', ...args, input());
    const { wideTolerations } = JSON.parse(stdout) as { wideTolerations?: { name: string }[] };
    expect(wideTolerations?.map(({ name }) => name)).toEqual(listed);
  });
});

it('a taint that Kubernetes sets and removes is no gap', async () => {
  const { code, stdout } = await run('coverage', file(node('n', [NOT_READY]), daemonSet('agent')));
  expect(stdout).toMatch(/^agents\/agent {2}waits$/m);
  expect(stdout).toContain('Kept off for a while');
  expect(code).toBe(0);
});

describe('-o', () => {
  const objects = [...NODES, daemonSet('agent', { tolerations: [{ ...MASTER, operator: 'Equal' }] })];

  it.each([
    { format: 'json', read: (text: string): unknown => JSON.parse(text) },
    { format: 'yaml', read: (text: string): unknown => parse(text) },
  ])('$format has all of it', async ({ format, read }) => {
    const { code, stdout } = await run('coverage', '-o', format, file(...objects));
    expect(read(stdout)).toEqual({
      nodeGroups: [
        {
          id: 'A',
          nodes: ['m', 'w-2', 'w-10'],
          roles: [],
          taints: [],
          labels: {},
          partly: { roles: {}, taints: { 'node-role.kubernetes.io/master:NoSchedule': 1 } },
        },
        { id: 'B', nodes: ['g'], roles: [], taints: ['dedicated=gpu:NoSchedule'], labels: {} },
      ],
      daemonSets: [
        {
          namespace: 'agents',
          name: 'agent',
          cells: [
            { group: 'A', runs: true },
            {
              group: 'B',
              runs: false,
              staysIfThere: true,
              obstacles: [{ kind: 'taint', what: 'taint dedicated=gpu:NoSchedule' }],
            },
          ],
        },
      ],
      gaps: [
        { namespace: 'agents', name: 'agent', taints: ['dedicated=gpu:NoSchedule'], nodes: ['g'], passing: false },
      ],
      closable: 0,
      rollouts: [],
      askable: ['dedicated'],
      refused: [],
      notes: [],
      critical: [],
      crowdedOut: [],
      wideTolerations: [],
    });
    expect(code).toBe(1);
  });
});

describe('fix', () => {
  const objects = [
    ...NODES,
    daemonSet('agent'),
    daemonSet('gpu', { nodeSelector: { pool: 'gpu' } }),
    daemonSet('stubborn', {}, { annotations: { 'taintkeeper.dev/ignore': 'true' } }),
  ];

  describe('--as', () => {
    const FLANNEL = daemonSet('kube-flannel-ds', {}, { labels: { app: 'flannel' } });
    const OTHER = daemonSet('other', { tolerations: [{ key: 'a', operator: 'Exists' }] });
    const fix = (form: string, ...args: string[]) =>
      run('coverage', 'fix', '--as', form, ...args, file(node('m', [MASTER]), FLANNEL, OTHER));
    const TOLERATION = { key: MASTER.key, operator: 'Exists', effect: 'NoSchedule' };

    it('patch prints what a shell can run', async () => {
      const { code, stdout } = await fix('patch');
      expect(code).toBe(0);
      expect(stdout.split('\n').map((line) => line.slice(0, 58))).toEqual(
        [
          '# Closes 2 gaps. Each command rolls the pods of its DaemonS',
          '# - agents/kube-flannel-ds on 1 node: node-role.kubernetes',
          '# - agents/other on 1 node: node-role.kubernetes.io/master',
          'kubectl patch -n agents daemonset kube-flannel-ds --type=j',
          "kubectl patch -n agents daemonset other --type=json -p '[{",
          '',
        ].map((line) => line.slice(0, 58)),
      );
    });

    it('helm-values prints one file for a release, and what is left to a person', async () => {
      const { stdout } = await fix('helm-values');
      expect(parse(stdout)).toEqual({ flannel: { tolerations: [TOLERATION] } });
      expect(stdout).toMatch(/^# Closes 1 gap, with these values/);
      expect(stdout).toMatch(/^# - agents\/other: nothing about it says that it comes from a Helm chart$/m);
      expect(stdout).toMatch(/^# for the release of chart flannel in namespace agents$/m);
    });

    it('kustomize prints a component', async () => {
      const { patches } = parse((await fix('kustomize')).stdout) as { patches: { patch: string }[] };
      expect(patches.map(({ patch }) => parse(patch).spec.template.spec.tolerations)).toEqual([
        [TOLERATION],
        [{ key: 'a', operator: 'Exists' }, TOLERATION],
      ]);
    });

    it.each([
      { form: 'patch', found: { commands: [{ name: 'kube-flannel-ds' }, { name: 'other' }] } },
      { form: 'helm-values', found: { releases: [{ chart: 'flannel' }] } },
      { form: 'kustomize', found: { kind: 'Component' } },
      { form: 'policies', found: { kind: 'List' } },
    ])('$form -o json has no comments in it', async ({ form, found }) => {
      const { stdout, stderr } = await fix(form, '-o', 'json');
      expect(JSON.parse(stdout)).toMatchObject(found);
      expect(stderr).toMatch(/^taintkeeper: Closes /);
    });

    it('says where there is nothing to be had in that way', async () => {
      const { code, stdout } = await run('coverage', 'fix', '--as', 'helm-values', file(node('m', [MASTER]), OTHER));
      expect(code).toBe(0);
      expect(stdout).toMatch(/^# No gap can be closed like this\.$/m);
    });
  });

  it('prints policies that the API server takes, and says what they do not do', async () => {
    const { code, stdout } = await run('coverage', 'fix', file(...objects));
    const documents = parseAllDocuments(stdout).map((document) => document.toJS() as unknown);
    expect(documents.filter((value) => value !== null).map(parsePolicy)).toMatchObject([
      {
        ok: true,
        policy: { name: expect.stringMatching(/^coverage-agents\./), spec: { daemonSets: { names: ['agent'] } } },
      },
    ]);
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^# Closes 1 gap\. .* with its next rollout\. existing: Patch has the leader do that/),
        expect.stringMatching(
          /^# it needs the right patchDaemonSets \(off by default\)\. Without it, once the policies are Ready .*:$/,
        ),
        '#   kubectl rollout restart -n agents daemonset agent',
        '# - agents/agent on 1 node: node-role.kubernetes.io/master:NoSchedule',
        '# - agents/agent on 1 node: dedicated=gpu:NoSchedule: if it is meant to run there, add --taint dedicated',
        '# - agents/stubborn on 1 node: node-role.kubernetes.io/master:NoSchedule: it is annotated taintkeeper.dev/ignore',
        '# - agents/gpu on 3 nodes: nodeSelector pool=gpu',
      ]),
    );
    // What it was asked for is printed: under `pipefail`, kubectl is to get it.
    expect(code).toBe(0);
  });

  it('names each DaemonSet to roll once, and no more than one reads', async () => {
    const many = Array.from({ length: 12 }, (_, i) => daemonSet(`agent-${i}`));
    const { stdout } = await run('coverage', 'fix', '--taint', 'dedicated', file(...NODES, ...many));
    const rollouts = stdout.split('\n').filter((line) => line.includes('kubectl rollout restart'));
    expect(rollouts).toHaveLength(9);
    expect(new Set(rollouts).size).toBe(9);
    expect(stdout).toContain('# and 3 more\n');
  });

  it('quotes what kubectl would not take for a text', async () => {
    const { stdout } = await run('coverage', 'fix', file(...NODES, daemonSet('on')));
    expect(stdout).toContain('- "on"\n');
  });

  it('tolerates what --taint names, too', async () => {
    const { stdout, stderr } = await run('coverage', 'fix', '-o', 'json', '--taint', 'ded*', file(...objects));
    // JSON has no comments.
    expect(stderr.split('\n')).toContain(
      'taintkeeper: - agents/stubborn on 1 node: node-role.kubernetes.io/master:NoSchedule: it is annotated taintkeeper.dev/ignore',
    );
    const { kind, items } = JSON.parse(stdout);
    expect(kind).toBe('List');
    expect(items.map(parsePolicy)).toMatchObject([
      {
        policy: {
          spec: { daemonSets: { names: ['agent'] }, tolerations: [{ key: 'dedicated' }, { key: MASTER.key }] },
        },
      },
      { policy: { spec: { daemonSets: { names: ['gpu'] }, tolerations: [{ key: 'dedicated', value: 'gpu' }] } } },
    ]);
  });

  it('has nothing but comments where there is nothing to close', async () => {
    const { code, stdout } = await run('coverage', 'fix', file(node('w'), daemonSet('agent')));
    expect({ code, stdout }).toEqual({ code: 0, stdout: '# There is no gap to close.\n' });
  });

  it('says which gaps it leaves where it closes none', async () => {
    const { code, stdout } = await run('coverage', 'fix', file(node('g', [GPU]), daemonSet('agent')));
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout:
        '# No gap is closed: 1 gap left.\n# Not changed:\n' +
        '# - agents/agent on 1 node: dedicated=gpu:NoSchedule: if it is meant to run there, add --taint dedicated\n',
    });
  });

  it('names the taints that DaemonSets wait for, which are no gaps', async () => {
    const { stdout } = await run(
      'coverage',
      'fix',
      file(node('n', [NOT_READY]), node('m', [NOT_READY, STARTUP]), daemonSet('agent'), daemonSet('cni')),
    );
    expect(stdout.split('\n')).toEqual([
      '# There is no gap to close.',
      '# No gaps, because Kubernetes, an agent or taintkeeper removes these taints:',
      expect.stringMatching(
        /^# - node\.kubernetes\.io\/not-ready:NoSchedule keeps 2 DaemonSets off for a while: .*--taint/,
      ),
      expect.stringMatching(/^# - node\.cilium\.io\/agent-not-ready:NoSchedule keeps 2 DaemonSets off for a while: /),
      '',
    ]);
  });

  it.each([{ as: 'policies' }, { as: 'patch' }, { as: 'kustomize' }])(
    'tolerates every taint that --taint names, also a startup taint beside a permanent one: --as $as',
    async ({ as }) => {
      const input = file(node('g', [GPU, STARTUP]), daemonSet('agent'));
      const args = ['coverage', 'fix', '--as', as, '--taint', 'dedicated', '--taint', STARTUP.key, input];
      const { stdout } = await run(...args);
      expect(stdout).toMatch(
        /^# - agents\/agent on 1 node: dedicated=gpu:NoSchedule, node\.cilium\.io\/agent-not-ready:NoSchedule$/m,
      );
      expect(stdout.replaceAll(/^#.*$/gm, '')).toContain(STARTUP.key);
    },
  );
});

describe('TolerationPolicies in the files', () => {
  const tolerations = [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }];
  const policy = (spec: object) => manifest('TolerationPolicy', 'gpu', { mode: 'Mutate', tolerations, ...spec });
  const agents = { namespaces: ['agents'] };
  const input = (spec: object) => file(node('g', [GPU]), daemonSet('agent'), policy(spec));

  it('get the rollout that adds what they require, and no second policy', async () => {
    const required = input({ daemonSets: agents });
    const { code, stdout } = await run('coverage', required);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /\nGet tolerations from the next rollout on, .*:\n.*\nagents\/agent .*kubectl rollout restart /,
    );
    const { stdout: fixed } = await run('coverage', 'fix', '--taint', 'dedicated', required);
    expect(fixed).toBe(
      '# No gap is closed: 1 gap left.\n# Not changed:\n' +
        '# - agents/agent on 1 node: dedicated=gpu:NoSchedule: TolerationPolicy gpu already requires it, from the next rollout on: kubectl rollout restart -n agents daemonset agent\n',
    );
  });

  it('do not count for remedies that need no taintkeeper', async () => {
    const required = input({ daemonSets: agents });
    const { stdout } = await run('coverage', 'fix', '--as', 'patch', '--taint', 'dedicated', required);
    expect(stdout).toMatch(/^kubectl patch -n agents daemonset agent /m);
  });

  it('that are not valid are left out with a note', async () => {
    const { stdout } = await run('coverage', input({ daemonSets: agents, mode: 'Sometimes' }));
    expect(stdout).toMatch(/^note: .*input\.yaml.*: TolerationPolicy is left out: /m);
    expect(stdout).not.toContain('next rollout');
  });
});

it('takes DaemonSets without a namespace to be in the default one where several may be meant', async () => {
  const manifest = file(node('w'), daemonSet('agent', {}, { namespace: undefined }), daemonSet('other'));
  expect((await run('coverage', '-n', 'def*', manifest)).stdout).toMatch(/^default\/agent {2}runs$/m);
});

it('reads standard input, and takes DaemonSets without a namespace to be in the one that was named', async () => {
  const stdin = JSON.stringify(daemonSet('agent', {}, { namespace: undefined }));
  const { code, stdout } = await runWithInput(stdin, 'coverage', '-n', 'agents', file(node('w')), '-');
  expect(stdout).toMatch(/^agents\/agent {2}runs$/m);
  expect(code).toBe(0);
});

describe('coverage ends with exit code 2 and a message for input that it cannot compare', () => {
  it.each<{ why: string; args?: string[]; objects: (object | string)[]; says: RegExp }>([
    {
      why: 'no node',
      objects: [daemonSet('a')],
      says: /^taintkeeper: the files have no Node: coverage compares Nodes with DaemonSets$/m,
    },
    {
      why: 'no DaemonSet',
      objects: [node('w')],
      says: /^taintkeeper: the files have no DaemonSet: coverage compares Nodes with DaemonSets$/m,
    },
    {
      why: 'no DaemonSet at all, though one is asked for',
      args: ['--daemonset', 'b'],
      objects: [node('w')],
      says: /^taintkeeper: no DaemonSet matches b; 0 were compared$/m,
    },
    {
      why: 'no such DaemonSet',
      args: ['--daemonset', 'b'],
      objects: [node('w'), daemonSet('a')],
      says: /^taintkeeper: no DaemonSet matches b; 1 was compared/,
    },
    {
      why: 'no such node',
      args: ['--node', 'x'],
      objects: [node('w'), daemonSet('a')],
      says: /^taintkeeper: no Node matches x/,
    },
    {
      why: 'a node that is there twice',
      objects: [node('w'), node('w'), daemonSet('a')],
      says: /input\.yaml:3:1: Node w is there twice$/m,
    },
    {
      why: 'a DaemonSet without a name',
      objects: [node('w'), daemonSet('', {})],
      says: /input\.yaml:3:\d+: metadata\.name: expected a name/,
    },
    {
      why: 'a taint that is none',
      objects: ['apiVersion: v1\nkind: Node\nmetadata: {name: w}\nspec:\n  taints: [{ effect: NoSchedule, key: 5 }]'],
      says: /input\.yaml:5:34: spec\.taints\[0\]\.key: /,
    },
    {
      why: 'a form of the fix, without fix',
      args: ['--as', 'patch'],
      objects: [node('w')],
      says: /unknown option '--as'/,
    },
    {
      why: 'an option before the command that it is for',
      args: ['-n', 'agents', 'fix'],
      objects: [node('w')],
      says: /^taintkeeper: --namespace stands before fix: options of coverage fix follow it/,
    },
    {
      why: 'files and a cluster',
      args: ['--kubeconfig', '/nowhere'],
      objects: [node('w')],
      says: /^taintkeeper: files replace a cluster/,
    },
  ])('$why', async ({ args = [], objects, says }) => {
    const { code, stdout, stderr } = await run('coverage', ...args, file(...objects));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(says);
  });
});

describe('a DaemonSet that the API server refuses', () => {
  const refusedFor = (toleration: object) =>
    daemonSet('refused', { tolerations: [{ operator: 'Exists' }, toleration] });
  const GPU_NODE = node('g', [GPU]);

  it.each<{ why: string; toleration: object; problem: string }>([
    {
      why: 'for an operator in lower case',
      toleration: { key: 'dedicated', operator: 'exists', effect: 'NoSchedule' },
      problem:
        'spec.template.spec.tolerations[1].operator: "exists" is not valid, write Exists: operator must be Equal or Exists',
    },
    {
      why: 'for Exists with a value',
      toleration: { key: 'dedicated', operator: 'Exists', value: 'gpu' },
      problem: 'spec.template.spec.tolerations[1].value: operator Exists takes no value',
    },
    {
      why: 'for seconds without NoExecute',
      toleration: { key: 'dedicated', operator: 'Exists', tolerationSeconds: 30 },
      problem: 'spec.template.spec.tolerations[1]: tolerationSeconds needs effect NoExecute',
    },
    {
      why: 'for an effect as cloud providers write it',
      toleration: { key: 'dedicated', operator: 'Exists', effect: 'NO_SCHEDULE' },
      problem: 'spec.template.spec.tolerations[1].effect: "NO_SCHEDULE" is not valid, write NoSchedule',
    },
    {
      why: 'for an effect alone',
      toleration: { effect: 'NoSchedule' },
      problem: 'spec.template.spec.tolerations[1]: without a key, operator must be Exists',
    },
  ])('is named as such by each command: $why', async ({ toleration, problem }) => {
    const input = file(GPU_NODE, refusedFor(toleration));
    const { code, stdout } = await run('coverage', input);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^The API server refuses these:\nDAEMONSET +WHY\nagents\/refused +.*input\.yaml:3:\d+: /m);
    expect(stdout).toContain(problem);
    expect(stdout).not.toContain('no gaps');

    const { stdout: fixed } = await run('coverage', 'fix', '--taint', '*', input);
    expect(fixed).toMatch(
      /^# No gap is closed\.\n# The API server refuses these, so there is nothing for them:\n# - agents\/refused: .*\n$/,
    );

    const review = await run('review', input);
    expect(review.code).toBe(1);
    expect(review.stdout).toMatch(/^daemonsets\/agents\/refused +CREATE +refused /m);
    expect(review.stdout).toContain(problem);
  });

  it('is no reason to leave out the others', async () => {
    const input = file(GPU_NODE, refusedFor({ operator: 'equal' }), daemonSet('agent'));
    const { code, stdout } = await run('coverage', input);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^1 DaemonSet refused by the API server: correct the tolerations first\n1 gap: /m);
    const { stdout: fixed } = await run('coverage', 'fix', '--taint', 'dedicated', input);
    expect(parseAllDocuments(fixed).map((each) => each.toJS().spec.daemonSets.names)).toEqual([['agent']]);
  });

  it('is in the JSON, with its place', async () => {
    const { stdout } = await run(
      'coverage',
      '-o',
      'json',
      '-n',
      'agents',
      file(GPU_NODE, refusedFor({ operator: 'equal' })),
    );
    expect(JSON.parse(stdout)).toMatchObject({
      daemonSets: [],
      refused: [{ namespace: 'agents', name: 'refused', problems: [expect.stringMatching(/:3:\d+: spec\.template/)] }],
    });
  });

  it('is none for Gt and Lt, which a feature gate decides', async () => {
    const { code, stdout } = await run(
      'coverage',
      file(GPU_NODE, daemonSet('a', { tolerations: [{ key: 'dedicated', operator: 'Gt', value: '5' }] })),
    );
    expect(code).toBe(0);
    expect(stdout).toContain('unknown');
  });
});

describe('files', () => {
  it('may have JSON objects in a row', async () => {
    const stream = [node('g', [GPU]), daemonSet('agent')].map((each) => JSON.stringify(each)).join('\n');
    expect(await runWithInput(stream, 'coverage', '-')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^1 gap: /m),
    });
  });

  it.each(['coverage', 'coverage fix'])(
    'that are templates are named in one line, and %s reads the others',
    async (command) => {
      const good = file(node('g', [GPU]), daemonSet('agent', { tolerations: [{ key: 'a', operator: 'Exists' }] }));
      const template = temporaryFile(
        't.yaml',
        'kind: DaemonSet\nmetadata:\n  name: {{ .Values.name }}\nspec:\n  {{- end }}\n',
      );
      const taint = command === 'coverage' ? [] : ['--taint', 'a'];
      const { code, stdout, stderr } = await run(...command.split(' '), ...taint, template, good);
      expect(stdout).toMatch(/agents\/agent/);
      expect(stderr).toBe(
        `taintkeeper: ${template}:3:9: this is a template: render it first, for example with helm template\n`,
      );
      expect(code).toBe(2);
    },
  );

  it('that cannot be read are named before what is missing', async () => {
    const { code, stdout, stderr } = await run(
      'coverage',
      file(daemonSet('agent')),
      temporaryFile('t.yaml', 'a: {{ b }}'),
    );
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/t\.yaml:1:4: this is a template.*\ntaintkeeper: the files have no Node/);
  });
});
