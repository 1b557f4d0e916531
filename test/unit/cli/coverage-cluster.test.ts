import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { CoverageReport } from '../../../src/coverage/report.ts';
import { answer, clientFor, type FakeApi, type Received, refusal, startFakeApi } from '../cluster/client/fake-api.ts';
import { run } from './run-command.ts';

interface Cluster {
  readonly nodes: readonly object[];
  readonly daemonSets: readonly object[];
  readonly pods?: readonly object[];
  readonly deployments?: readonly object[];
  readonly tolerationPolicies?: readonly object[];
  readonly taintPolicies?: readonly object[];
  /** Answers in place of the cluster, when it returns true. */
  readonly instead?: (request: Received, response: ServerResponse) => boolean;
}

const TAINT_POLICIES = '/apis/taintkeeper.dev/v1alpha1/taintpolicies';
const WORKLOADS = ['apps/v1/deployments', 'apps/v1/statefulsets', 'batch/v1/cronjobs'].map((path) => `/apis/${path}`);
const TOLERATION_POLICIES = '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies';

const GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const EDGE = { key: 'edge', effect: 'NoSchedule' };
const MASTER = { key: 'node-role.kubernetes.io/master', effect: 'NoSchedule' };
const node = (name: string, taints: object[] = []) => ({ metadata: { name }, spec: { taints } });

/** All of the desired pods are there, where `status` says nothing else. */
const daemonSet = (name: string, desired: number, status: object = {}) => ({
  metadata: { namespace: 'agents', name, uid: `uid-${name}`, generation: 2 },
  spec: {
    selector: { matchLabels: { app: name }, matchExpressions: [{ key: 'tier', operator: 'In', values: ['a', 'b'] }] },
    template: { spec: {} },
  },
  status: {
    observedGeneration: 2,
    desiredNumberScheduled: desired,
    currentNumberScheduled: desired,
    numberMisscheduled: 0,
    ...status,
  },
});

const pod = (owner: string, spec: object, status: object = {}, metadata: object = {}) => ({
  metadata: { ownerReferences: [{ uid: `uid-${owner}`, controller: true }], ...metadata },
  spec,
  status,
});

async function start({
  nodes,
  daemonSets,
  pods = [],
  deployments = [],
  tolerationPolicies,
  taintPolicies,
  instead,
}: Cluster): Promise<FakeApi> {
  const lists: Record<string, readonly object[]> = {
    '/api/v1/nodes': nodes,
    '/apis/apps/v1/daemonsets': daemonSets,
    '/apis/apps/v1/namespaces/agents/daemonsets': daemonSets,
    '/api/v1/namespaces/agents/pods': pods,
    ...Object.fromEntries(WORKLOADS.map((path) => [path, path.endsWith('/deployments') ? deployments : []])),
    ...(tolerationPolicies && { [TOLERATION_POLICIES]: tolerationPolicies }),
    ...(taintPolicies && { [TAINT_POLICIES]: taintPolicies }),
  };
  return startFakeApi((request, response) => {
    if (instead?.(request, response)) return;
    const items = lists[request.path];
    if (items) answer(response, { metadata: { resourceVersion: '1' }, items });
    else answer(response, refusal(404, 'NotFound', 'nothing here'), 404);
  });
}

async function coverage(api: FakeApi, ...args: string[]) {
  const { file } = await clientFor(api.url);
  const { code, stdout, stderr } = await run('coverage', '--kubeconfig', file, '-o', 'json', ...args);
  return { code, stderr, report: (stdout ? JSON.parse(stdout) : undefined) as CoverageReport & { notes: string[] } };
}

const cells = ({ report }: { report: CoverageReport }) => report.daemonSets.flatMap(({ cells }) => cells);
const pathsOf = ({ received }: FakeApi) => received.map(({ path }) => path).sort();

it('does not read the pods of a DaemonSet whose status has all expected pods', async () => {
  const api = await start({ nodes: [node('n1'), node('n2'), node('g', [GPU])], daemonSets: [daemonSet('a', 2)] });
  const found = await coverage(api);
  expect(cells(found)).toMatchObject([
    { group: 'A', runs: true, pods: { scheduled: 2, missing: [], staying: [] } },
    { group: 'B', runs: false, pods: { scheduled: 0, missing: [], staying: [] } },
  ]);
  expect(pathsOf(api)).toEqual([
    '/api/v1/nodes',
    '/apis/apps/v1/daemonsets',
    ...WORKLOADS,
    TAINT_POLICIES,
    TOLERATION_POLICIES,
  ]);
  expect(found.code).toBe(1);
});

describe('a cluster without DaemonSets', () => {
  it('has no gaps, and that is said', async () => {
    const api = await start({ nodes: [node('n1', [GPU])], daemonSets: [] });
    expect(await coverage(api)).toMatchObject({
      code: 0,
      stderr: '',
      report: { daemonSets: [], gaps: [], notes: ['the cluster has no DaemonSets'] },
    });
    const { file } = await clientFor(api.url);
    const { code, stdout } = await run('coverage', '--kubeconfig', file);
    expect(code).toBe(0);
    expect(stdout).toContain('note: the cluster has no DaemonSets\n');
    expect((await run('coverage', 'fix', '--kubeconfig', file)).code).toBe(0);
  });

  it('has none of those that are asked for', async () => {
    const api = await start({ nodes: [node('n1')], daemonSets: [] });
    expect(await coverage(api, '-n', 'agents')).toMatchObject({
      code: 2,
      stderr: 'taintkeeper: no DaemonSet matches agents; 0 were compared\n',
    });
  });
});

describe('reads the pods of a DaemonSet', () => {
  it.each<{ why: string; status?: object; desired?: number }>([
    { why: 'whose status is of an earlier generation', status: { observedGeneration: 1 } },
    { why: 'that lacks pods', status: { currentNumberScheduled: 0 } },
    { why: 'that has pods where they should not be', status: { numberMisscheduled: 1 } },
    { why: 'whose pods are not all available', status: { numberUnavailable: 1 } },
    { why: 'of which the controller requires another number', desired: 2 },
    { why: 'that has no status yet', status: { observedGeneration: undefined, desiredNumberScheduled: undefined } },
  ])('$why', async ({ status = {}, desired = 1 }) => {
    const api = await start({ nodes: [node('n1')], daemonSets: [daemonSet('a', desired, status)] });
    expect(cells(await coverage(api))).toMatchObject([
      { runs: true, pods: { scheduled: 0, missing: [{ node: 'n1', why: 'it has no pod' }] } },
    ]);
    const query = { labelSelector: 'app=a,tier in (a, b)' };
    expect(api.received).toContainEqual(
      expect.objectContaining({ path: '/api/v1/namespaces/agents/pods', query: expect.objectContaining(query) }),
    );
  });

  it('never for a fix', async () => {
    const api = await start({ nodes: [node('n1')], daemonSets: [daemonSet('a', 9)] });
    const { file } = await clientFor(api.url);
    expect((await run('coverage', 'fix', '--kubeconfig', file)).code).toBe(0);
    expect(api.received.filter(({ path }) => path.endsWith('/pods'))).toEqual([]);
  });
});

const UNAVAILABLE = { numberUnavailable: 1 };
const forNode = (name: string) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] }],
      },
    },
  },
});

describe('a pod', () => {
  it.each<{ why: string; pods: object[]; scheduled: number; missing: string[] }>([
    { why: 'is there once it is bound', pods: [pod('a', { nodeName: 'n1' })], scheduled: 1, missing: [] },
    {
      why: 'is not there while the scheduler finds no room',
      pods: [
        pod('a', forNode('n1'), { conditions: [{ type: 'PodScheduled', status: 'False', message: '0/1: no cpu' }] }),
      ],
      scheduled: 0,
      missing: ['its pod is not scheduled: 0/1: no cpu'],
    },
    {
      why: 'is not there any more when it has failed',
      pods: [pod('a', { nodeName: 'n1' }, { phase: 'Failed', reason: 'NodeShutdown' })],
      scheduled: 0,
      missing: ['its pod has Failed: NodeShutdown'],
    },
    {
      why: 'is not there when it is being deleted',
      pods: [pod('a', { nodeName: 'n1' }, {}, { deletionTimestamp: '2026-01-01T00:00:00Z' })],
      scheduled: 0,
      missing: ['its pod is being deleted'],
    },
    {
      why: 'that is there counts, whatever else there is',
      pods: [pod('a', { nodeName: 'n1' }), pod('a', { nodeName: 'n1' }, { phase: 'Failed' })],
      scheduled: 1,
      missing: [],
    },
    {
      why: 'of another owner, or without an owner, does not count',
      pods: [pod('b', { nodeName: 'n1' }), { metadata: {}, spec: { nodeName: 'n1' } }],
      scheduled: 0,
      missing: ['it has no pod'],
    },
  ])('$why', async ({ pods, scheduled, missing }) => {
    const api = await start({ nodes: [node('n1')], daemonSets: [daemonSet('a', 1, UNAVAILABLE)], pods });
    expect(cells(await coverage(api))).toEqual([
      {
        group: 'A',
        runs: true,
        pods: { scheduled, missing: missing.map((why) => ({ node: 'n1', why })), staying: [] },
      },
    ]);
  });

  it('that is there only because it was before is told apart', async () => {
    const pods = [pod('a', { nodeName: 'g1' })];
    const api = await start({
      nodes: [node('g1', [GPU]), node('g2', [GPU])],
      daemonSets: [daemonSet('a', 0, { numberMisscheduled: 1 })],
      pods,
    });
    expect(cells(await coverage(api))).toMatchObject([
      { runs: false, staysIfThere: true, pods: { scheduled: 1, missing: [], staying: ['g1'] } },
    ]);
    const { file } = await clientFor(api.url);
    const { stdout } = await run('coverage', '--kubeconfig', file);
    expect(stdout).toMatch(/^agents\/a +taint \(1 stay\)$/m);
    expect(stdout).toMatch(/^Still running, and would not be scheduled today:\n.*\nagents\/a +1 +g1$/m);
  });
});

it('shows what should be there and is not', async () => {
  const api = await start({
    nodes: [node('n1'), node('n2')],
    daemonSets: [daemonSet('a', 2, UNAVAILABLE)],
    pods: [pod('a', { nodeName: 'n2' })],
  });
  const { file } = await clientFor(api.url);
  const { code, stdout } = await run('coverage', '--kubeconfig', file);
  expect(stdout).toMatch(/^agents\/a +runs 1\/2$/m);
  expect(stdout).toMatch(/^Missing pods:\n.*\nagents\/a +1 +n1 +it has no pod$/m);
  expect(code).toBe(0);
});

it.each([
  { why: 'may not be read', status: 403, refused: refusal(403, 'Forbidden', 'dev cannot list pods') },
  { why: 'of one DaemonSet are not listed', status: 500, refused: refusal(500, 'InternalError', 'not now') },
])('goes on where pods $why, and says so', async ({ status, refused }) => {
  const api = await start({
    nodes: [node('n1')],
    daemonSets: [daemonSet('a', 1, UNAVAILABLE)],
    instead(request, response) {
      if (!request.path.endsWith('/pods')) return false;
      answer(response, refused, status);
      return true;
    },
  });
  const found = await coverage(api);
  expect(cells(found)).toEqual([{ group: 'A', runs: true }]);
  expect(found.report.notes).toEqual([expect.stringMatching(/^the pods in agents were not read: /)]);
  expect(found.report.notes[0]).toContain(`${status} ${refused.reason}: ${refused.message}`);
  expect(found.code).toBe(0);
});

it('finds pods without a selector that is too long for a request: they name their owner', async () => {
  const large = daemonSet('a', 1, UNAVAILABLE);
  const values = Array.from({ length: 10_000 }, (_, index) => `value-${index}`);
  Object.assign(large.spec.selector, { matchExpressions: [{ key: 'tier', operator: 'In', values }] });
  const pods = [pod('a', { nodeName: 'n1' }), pod('b', { nodeName: 'n1' })];
  const api = await start({ nodes: [node('n1')], daemonSets: [large], pods });
  expect(cells(await coverage(api))).toEqual([
    { group: 'A', runs: true, pods: { scheduled: 1, missing: [], staying: [] } },
  ]);
  expect(api.received.find(({ path }) => path.endsWith('/pods'))?.query).not.toHaveProperty('labelSelector');
});

it('reads lists page by page, and from the beginning where they have changed too much', async () => {
  let expired = false;
  const api = await start({
    nodes: [],
    daemonSets: [daemonSet('a', 2)],
    instead({ path, query }, response) {
      if (path !== '/api/v1/nodes') return false;
      if (query.continue && !expired) {
        expired = true;
        answer(response, refusal(410, 'Expired', 'too old'), 410);
      } else if (query.continue) {
        answer(response, { metadata: { resourceVersion: '1' }, items: [node('n2')] });
      } else {
        answer(response, { metadata: { resourceVersion: '1', continue: 'more' }, items: [node('n1')] });
      }
      return true;
    },
  });
  expect((await coverage(api)).report.nodeGroups).toMatchObject([{ nodes: ['n1', 'n2'] }]);
  expect(api.received.filter(({ path }) => path === '/api/v1/nodes').map(({ query }) => query.limit)).toEqual([
    '25',
    '50',
    '25',
    '50',
  ]);
});

it.each([
  { why: 'the given one', args: ['-n', 'agents', '-n', 'agents'], place: 'namespaces/agents/' },
  { why: 'all, for a pattern', args: ['-n', 'ag*'], place: '' },
])('asks for the workloads of namespaces: $why', async ({ args, place }) => {
  const api = await start({ nodes: [node('n1')], daemonSets: [daemonSet('a', 1)] });
  expect(cells(await coverage(api, ...args))).toHaveLength(1);
  const lists = ['apps/v1/daemonsets', 'apps/v1/deployments', 'apps/v1/statefulsets', 'batch/v1/cronjobs'].map(
    (list) => `/apis/${list.replace('/v1/', `/v1/${place}`)}`,
  );
  expect(pathsOf(api)).toEqual(['/api/v1/nodes', ...lists, TAINT_POLICIES, TOLERATION_POLICIES]);
});

it('finds a gap where a startup taint waits for the DaemonSet itself, unless policies may not be read', async () => {
  const taint = { key: 'startup-taint.cluster-autoscaler.kubernetes.io/network', effect: 'NoSchedule' };
  const readyWhen = { daemonSets: [{ namespace: 'agents', name: 'a' }] };
  const policy = {
    metadata: { name: 'wait-for-a', uid: 'u', resourceVersion: '1', generation: 1 },
    spec: { mode: 'Restore', taints: [{ ...taint, ensure: 'UntilReady', readyWhen }] },
  };
  const cluster = { nodes: [node('n1', [taint])], daemonSets: [daemonSet('a', 0)] };
  const found = await coverage(await start({ ...cluster, taintPolicies: [policy] }));
  expect(found).toMatchObject({
    code: 1,
    report: { gaps: [{ passing: false, deadlocks: [{ policies: ['wait-for-a'] }] }], notes: [] },
  });
  const blind = await start({
    ...cluster,
    instead(request, response) {
      if (request.path !== TAINT_POLICIES) return false;
      answer(response, refusal(403, 'Forbidden', 'dev cannot list policies'), 403);
      return true;
    },
  });
  expect(await coverage(blind)).toMatchObject({
    code: 0,
    report: {
      gaps: [{ passing: true }],
      notes: [expect.stringMatching(/^TaintPolicies were not read: .*dev cannot list policies$/)],
    },
  });
});

describe('where a TolerationPolicy asks for the toleration already', () => {
  const policy = (spec: object = {}, status: object = {}) => ({
    metadata: { name: 'gpu', uid: 'uid-gpu', resourceVersion: '1', generation: 1 },
    spec: {
      mode: 'Mutate',
      daemonSets: { namespaces: ['agents'] },
      tolerations: [{ key: 'dedicated', operator: 'Exists' }],
      ...spec,
    },
    status,
  });
  const audit = { audit: true };
  const cluster = { nodes: [node('g', [GPU])], daemonSets: [daemonSet('a', 0)] };
  const fix = async (tolerationPolicies: object[] | undefined, args: string[] = [], rest: Partial<Cluster> = {}) => {
    const api = await start({ ...cluster, ...(tolerationPolicies && { tolerationPolicies }), ...rest });
    const { file } = await clientFor(api.url);
    const { code, stdout } = await run('coverage', 'fix', '--taint', 'ded*', '--kubeconfig', file, ...args);
    return { code, stdout, received: pathsOf(api) };
  };

  it('coverage has the command that brings it, and promises no policy', async () => {
    const api = await start({ ...cluster, tolerationPolicies: [policy()] });
    const { file } = await clientFor(api.url);
    const { code, stdout } = await run('coverage', '--gaps', '--kubeconfig', file);
    expect(stdout.split('\n').slice(-6)).toEqual([
      'Get tolerations from the next rollout on, because a TolerationPolicy already requires them:',
      'DAEMONSET  TOLERATIONPOLICY  ROLLOUT',
      'agents/a   gpu               kubectl rollout restart -n agents daemonset a',
      '',
      '1 gap: the rollouts above close all',
      '',
    ]);
    expect(code).toBe(1);
    const { report } = await coverage(api);
    expect(report).toMatchObject({
      gaps: [{ passing: false }],
      rollouts: [{ namespace: 'agents', name: 'a', requiredBy: ['gpu'], gaps: 1 }],
      ...{ closable: 0, askable: [] },
    });
  });

  it.each([
    {
      others: [node('m', [MASTER])],
      says: '2 gaps: the rollouts above close 1 of them; coverage fix prints the policies that close 1 of them',
    },
    {
      others: [node('e', [EDGE])],
      says: '2 gaps: the rollouts above close 1 of them; where DaemonSets should run on the other nodes, coverage fix --taint edge prints the policies for it',
    },
    {
      others: [node('m', [MASTER]), node('e', [EDGE])],
      says: '3 gaps: the rollouts above close 1 of them; coverage fix prints the policies that close 1 of them; for edge add --taint edge',
    },
  ])('coverage concludes: $says', async ({ others, says }) => {
    const nodes = [...cluster.nodes, ...others];
    const { file } = await clientFor((await start({ ...cluster, nodes, tolerationPolicies: [policy()] })).url);
    const { stdout } = await run('coverage', '--gaps', '--kubeconfig', file);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe(says);
  });

  it('fix says what brings it, and prints no policy', async () => {
    const { code, stdout } = await fix([policy()]);
    expect(stdout).toBe(
      '# No gap is closed: 1 gap left.\n# Not changed:\n# - agents/a on 1 node: dedicated=gpu:NoSchedule: TolerationPolicy gpu already requires it, from the next rollout on: ' +
        'kubectl rollout restart -n agents daemonset a\n',
    );
    expect(code).toBe(0);
  });

  it.each<{ why: string; policies: object[] | undefined; args?: string[] }>([
    { why: 'it is only reported', policies: [policy({ mode: 'Audit' })] },
    { why: 'taintkeeper runs with --audit', policies: [policy({}, audit)] },
    { why: 'it is for other DaemonSets', policies: [policy({ daemonSets: { namespaces: ['other'] } })] },
    { why: 'it is for another taint', policies: [policy({ tolerations: [{ key: 'dedicate', operator: 'Exists' }] })] },
    { why: 'taintkeeper is not installed', policies: undefined },
    { why: 'the gap is to be closed in another way', policies: [policy()], args: ['--as', 'patch'] },
  ])('fix closes the gap all the same where $why', async ({ policies, args }) => {
    const { stdout } = await fix(policies, args);
    expect(stdout).toMatch(/^# Closes 1 gap\./);
    expect(stdout).not.toContain('note: ');
  });

  it('fix closes the gap, and says so, where policies may not be read', async () => {
    const { stdout } = await fix(undefined, [], {
      instead(request, response) {
        if (request.path !== TOLERATION_POLICIES) return false;
        answer(response, refusal(403, 'Forbidden', 'dev cannot list policies'), 403);
        return true;
      },
    });
    expect(stdout).toMatch(/^# Closes 1 gap\./);
    expect(stdout).toMatch(/^# note: TolerationPolicies were not read: .*dev cannot list policies$/m);
  });
});

describe('workloads that tolerate drained or dead nodes', () => {
  const found = { nodes: [node('n1')], daemonSets: [daemonSet('a', 1)] };
  const deployments = [
    {
      metadata: { namespace: 'shop', name: 'web' },
      spec: { template: { spec: { tolerations: [{ operator: 'Exists' }] } } },
    },
  ];

  it('are listed', async () => {
    const { code, report } = await coverage(await start({ ...found, deployments }));
    expect({ code, report }).toMatchObject({
      code: 0,
      report: { notes: [], wideTolerations: [{ kind: 'Deployment', namespace: 'shop', name: 'web', toleration: '*' }] },
    });
  });

  it('are a note if the user may not list them', async () => {
    const api = await start({
      ...found,
      instead({ path }, response) {
        if (path !== WORKLOADS[1]) return false;
        answer(response, refusal(403, 'Forbidden', 'not you'), 403);
        return true;
      },
    });
    const { code, report } = await coverage(api);
    expect(code).toBe(0);
    expect(report.notes).toEqual([
      expect.stringMatching(/^workloads that tolerate drained or dead nodes are not shown: .*statefulsets.*not you/),
    ]);
  });

  it.each([['--gaps'], ['--daemonset', 'a'], ['--node', 'n1']])('are not read with %s', async (...args) => {
    const api = await start({ ...found, deployments });
    await coverage(api, ...args);
    expect(pathsOf(api).filter((path) => WORKLOADS.includes(path))).toEqual([]);
  });
});

it('ends with code 2 if the user may not list nodes', async () => {
  const api = await start({
    nodes: [],
    daemonSets: [],
    instead(request, response) {
      if (request.path === '/api/v1/nodes') answer(response, refusal(403, 'Forbidden', 'dev cannot list nodes'), 403);
      return request.path === '/api/v1/nodes';
    },
  });
  expect(await coverage(api)).toEqual({
    code: 2,
    report: undefined,
    stderr: 'taintkeeper: GET /api/v1/nodes: 403 Forbidden: dev cannot list nodes\n',
  });
});
