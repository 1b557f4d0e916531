import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { COMMAND_RIGHTS } from '../../../src/cli/command-rights.ts';
import { answer, clientFor, refusal, startFakeApi } from '../cluster/client/fake-api.ts';
import { manifest } from '../policy/policies.ts';
import { daemonSetObject, nodeObject } from '../reviews.ts';
import { temporaryFile } from '../temporary-directory.ts';
import { run } from './run-command.ts';

const OLD = 'node-role.kubernetes.io/master';
const NEW = 'node-role.kubernetes.io/control-plane';
const tolerating = (key: string) => ({ tolerations: [{ key, operator: 'Exists', effect: 'NoSchedule' }] });

/** The path of a temporary file with these objects as JSON documents. */
function file(...objects: object[]): string {
  return temporaryFile('input.yaml', objects.map((each) => JSON.stringify(each)).join('\n---\n'));
}

const node = (name: string, taints: string[], labels: string[] = taints) =>
  nodeObject(
    taints.map((key) => ({ key, effect: 'NoSchedule' })),
    { name, labels: Object.fromEntries(labels.map((key) => [key, ''])) },
  );
const workload = (kind: string, name: string, podSpec: object, metadata: object = {}) => ({
  ...daemonSetObject([], { namespace: 'a', name, ...metadata }),
  kind,
  spec: { template: { spec: podSpec } },
});
const cronJob = (name: string, podSpec: object) => ({
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { namespace: 'a', name },
  spec: { jobTemplate: { spec: { template: { spec: podSpec } } } },
});

interface Migration {
  nodes: { name: string; labels: string; taints: string }[];
  workloads: { kind: string; name: string; tolerates: string; selectsByOldLabel: boolean; managedBy?: string }[];
  steps: { goal: string; done: boolean; commands: string[]; byHand: string[]; notes?: string[] }[];
}

it('prints who knows which role, and what is left to do as a checked list', async () => {
  const { code, stdout } = await run(
    'coverage',
    'migrate',
    file(
      node('m1', [OLD, NEW]),
      node('m2', [OLD, NEW]),
      node('w', []),
      workload('DaemonSet', 'agent', tolerating(OLD), { labels: { 'app.kubernetes.io/managed-by': 'Helm' } }),
    ),
  );
  expect(stdout).toMatch(/^2 +both +both +m1, m2$/m);
  expect(stdout).toMatch(/^DaemonSet a\/agent +old +- +Helm$/m);
  expect(stdout.split('\n').filter((line) => /^\[|^ {6}#|by hand|taint node/.test(line))).toEqual([
    '[x] 1. Every node with the old label has the new one, too',
    '[ ] 2. Workloads that tolerate one of the taints tolerate both, and none selects by the old label',
    '      # Helm manages some of these: change it there, or the change is reverted',
    '[x] 3. Every node with the old taint carries the new one, too',
    '[x] 4. Policies that name the old taint or label name the new one, too, and none keeps the old taint on a node',
    '[ ] 5. No node carries the old taint',
    `      kubectl taint node m1 m2 ${OLD}:NoSchedule-`,
    '[ ] 6. No node has the old label',
  ]);
  expect(code).toBe(1);
});

it.each([
  { why: 'without another manager', metadata: {}, says: true },
  { why: 'of Helm', metadata: { labels: { 'app.kubernetes.io/managed-by': 'Helm' } }, says: false },
  { why: 'in another namespace', metadata: { namespace: 'a' }, says: false },
  { why: 'that needs no change', metadata: {}, tolerated: [OLD, NEW], says: false },
])('says that kubeadm resets its CoreDNS: one $why', async ({ metadata, tolerated = [NEW], says }) => {
  const podSpec = { tolerations: tolerated.flatMap((key) => tolerating(key).tolerations) };
  const input = file(
    node('m', [OLD, NEW]),
    workload('Deployment', 'coredns', podSpec, { namespace: 'kube-system', ...metadata }),
  );
  const note =
    'Deployment kube-system/coredns: kubeadm upgrade resets it, if kubeadm installed it. Finish all steps before the next upgrade, or run this again after it';
  const { stdout } = await run('coverage', 'migrate', input);
  expect(stdout.split('\n').filter((line) => line.includes('kubeadm'))).toEqual(says ? [`      # ${note}`] : []);
  const { steps } = JSON.parse((await run('coverage', 'migrate', '-o', 'json', input)).stdout) as Migration;
  expect(steps.flatMap(({ notes = [] }) => notes)).toEqual(says ? [note] : []);
});

it('says when no step is left', async () => {
  const { code, stdout } = await run('coverage', 'migrate', file(node('c', [NEW])));
  expect(stdout).toMatch(/^No step is left\.$/m);
  expect(stdout).not.toContain('[ ]');
  expect(code).toBe(0);
});

it.each([
  { format: 'json', read: (text: string): unknown => JSON.parse(text) },
  { format: 'yaml', read: (text: string): unknown => parse(text) },
])('-o $format has all kinds of workloads', async ({ format, read }) => {
  const input = file(
    node('m', [OLD]),
    workload('DaemonSet', 'd', tolerating(OLD)),
    workload('Deployment', 'e', tolerating(NEW)),
    workload('StatefulSet', 's', { nodeSelector: { [OLD]: '' } }),
    cronJob('c', tolerating(OLD)),
    workload('DaemonSet', 'fine', { tolerations: [{ operator: 'Exists' }] }),
  );
  const { stdout } = await run('coverage', 'migrate', '-o', format, input);
  const { nodes, workloads, steps } = read(stdout) as Migration;
  expect(nodes).toEqual([{ name: 'm', labels: 'old', taints: 'old' }]);
  expect(workloads).toEqual([
    { kind: 'DaemonSet', namespace: 'a', name: 'd', tolerates: 'old', selectsByOldLabel: false },
    { kind: 'Deployment', namespace: 'a', name: 'e', tolerates: 'new', selectsByOldLabel: false },
    { kind: 'StatefulSet', namespace: 'a', name: 's', tolerates: 'none', selectsByOldLabel: true },
    { kind: 'CronJob', namespace: 'a', name: 'c', tolerates: 'old', selectsByOldLabel: false },
  ]);
  expect(steps.map(({ done, commands }) => [done, commands.length])).toEqual([
    [false, 1],
    [false, 4],
    [false, 1],
    [true, 0],
    [false, 1],
    [false, 1],
  ]);
  expect(steps[1]?.commands[3]).toContain('"path":"/spec/jobTemplate/spec/template/spec/tolerations/-"');
});

it('names the manager of a workload as the other commands do', async () => {
  const labels = { 'app.kubernetes.io/managed-by': 'Helm' };
  const annotations = { 'meta.helm.sh/release-name': 'net' };
  const owned = { ownerReferences: [{ kind: 'Installation', name: 'default', controller: true }] };
  const input = file(
    node('m', [OLD]),
    workload('DaemonSet', 'by-label', tolerating(OLD), { labels }),
    workload('DaemonSet', 'by-release', tolerating(OLD), { labels, annotations }),
    workload('DaemonSet', 'by-owner', tolerating(OLD), { labels, annotations, ...owned }),
    workload('DaemonSet', 'by-hand', tolerating(OLD)),
  );
  const { stdout } = await run('coverage', 'migrate', '-o', 'json', input);
  expect((JSON.parse(stdout) as Migration).workloads.map(({ name, managedBy }) => [name, managedBy])).toEqual([
    ['by-label', 'Helm'],
    ['by-release', 'Helm, for release net'],
    ['by-owner', 'Installation default'],
    ['by-hand', undefined],
  ]);
});

const PROTECTION = manifest('TaintPolicy', 'p', {
  mode: 'Deny',
  taints: [{ key: OLD }, { key: NEW }],
});

it('takes policies from the files, too', async () => {
  const { stdout } = await run('coverage', 'migrate', '-o', 'json', file(node('m', [OLD, NEW]), PROTECTION));
  const { steps } = JSON.parse(stdout) as Migration;
  expect(steps[4]?.commands).toEqual([
    `kubectl annotate --overwrite node m taintkeeper.dev/allow-removal=${OLD}:NoSchedule`,
    `kubectl taint node m ${OLD}:NoSchedule-`,
  ]);
});

it('keeps what the annotation allow-removal of a node has', async () => {
  const annotated = node('m', [OLD, NEW]);
  const annotations = { 'taintkeeper.dev/allow-removal': 'dedicated=gpu:NoSchedule' };
  const input = { ...annotated, metadata: { ...annotated.metadata, annotations } };
  const { stdout } = await run('coverage', 'migrate', '-o', 'json', file(input, PROTECTION));
  expect((JSON.parse(stdout) as Migration).steps[4]?.commands[0]).toBe(
    `kubectl annotate --overwrite node m taintkeeper.dev/allow-removal=dedicated=gpu:NoSchedule,${OLD}:NoSchedule`,
  );
});

describe('of a cluster', () => {
  const NO_WORKLOADS: Record<string, object[]> = {
    '/apis/apps/v1/daemonsets': [],
    '/apis/apps/v1/deployments': [],
    '/apis/apps/v1/statefulsets': [],
    '/apis/batch/v1/cronjobs': [],
  };
  const LISTS: Record<string, object[]> = {
    ...NO_WORKLOADS,
    '/api/v1/nodes': [node('m', [OLD, NEW])],
    '/apis/apps/v1/daemonsets': [workload('DaemonSet', 'd', tolerating(OLD))],
    '/apis/batch/v1/cronjobs': [cronJob('c', tolerating(OLD))],
    '/apis/taintkeeper.dev/v1alpha1/taintpolicies': [PROTECTION],
  };

  const POLICIES = '/apis/taintkeeper.dev/v1alpha1';

  async function migrate(lists: Record<string, object[]>, forbidden: readonly string[] = []) {
    const api = await startFakeApi(({ path }, response) => {
      const items = lists[path];
      if (forbidden.includes(path)) answer(response, refusal(403, 'Forbidden', 'no'), 403);
      else if (items) answer(response, { metadata: { resourceVersion: '1' }, items });
      else answer(response, refusal(404, 'NotFound', 'nothing here'), 404);
    });
    const { file } = await clientFor(api.url);
    const outcome = await run('coverage', 'migrate', '-o', 'json', '--kubeconfig', file);
    return { ...outcome, requested: api.received.map(({ path }) => path) };
  }

  it('reads nodes, workloads and policies', async () => {
    const { code, stdout } = await migrate(LISTS);
    const { steps } = JSON.parse(stdout) as Migration;
    expect(steps.map(({ commands }) => commands.length)).toEqual([0, 2, 0, 0, 2, 1]);
    expect(steps[3]).toMatchObject({ done: true, byHand: [] });
    expect(code).toBe(1);
  });

  it('requests what the listed permissions allow, and nothing else', async () => {
    const { requested } = await migrate(LISTS);
    const resources = requested.map((path) => path.split('/').at(-1));
    const { inCluster } = COMMAND_RIGHTS['coverage migrate'];
    expect(resources.toSorted()).toEqual(inCluster.flatMap((rule) => [...rule.resources]).toSorted());
  });

  const DONE = { ...NO_WORKLOADS, '/api/v1/nodes': [node('c', [NEW])] };

  it('leaves a step where a TolerationRestriction restricts only the old taint', async () => {
    const cp = manifest('TolerationRestriction', 'cp', { mode: 'Deny', taints: [{ key: OLD }] });
    const { code, stdout } = await migrate({ ...DONE, [`${POLICIES}/tolerationrestrictions`]: [cp] });
    const { steps } = JSON.parse(stdout) as Migration;
    expect(steps.flatMap(({ byHand }) => byHand)).toEqual([
      expect.stringMatching(/^TolerationRestriction cp restricts the old taint and not the new one: /),
    ]);
    expect(code).toBe(1);
  });

  it.each([
    { kind: 'TaintPolicy', resource: 'taintpolicies' },
    { kind: 'TolerationPolicy', resource: 'tolerationpolicies' },
    { kind: 'TolerationRestriction', resource: 'tolerationrestrictions' },
  ])('leaves a step where objects of kind $kind may not be read', async ({ kind, resource }) => {
    const path = `${POLICIES}/${resource}`;
    const { code, stdout } = await migrate(DONE, [path]);
    const { steps } = JSON.parse(stdout) as Migration;
    expect(steps.flatMap(({ byHand }) => byHand)).toEqual([
      `${kind} objects could not be read (GET ${path}: 403 Forbidden: no): correct this, and run the command again before you change anything`,
    ]);
    expect(steps.map(({ done }) => done)).toEqual([true, true, true, false, true, true]);
    expect(code).toBe(1);
  });

  it('leaves a step where a policy is not valid', async () => {
    const broken = manifest('TaintPolicy', 'broken', { mode: 'Maybe' });
    const { code, stdout } = await migrate({ ...DONE, [`${POLICIES}/taintpolicies`]: [broken] });
    expect((JSON.parse(stdout) as Migration).steps[3]?.byHand).toEqual([
      'TaintPolicy broken is not valid, and was left out: correct it, and run the command again before you change anything',
    ]);
    expect(code).toBe(1);
  });

  it('makes no plan for OpenShift', async () => {
    const worker = nodeObject([], { name: 'worker-0', labels: { 'node.openshift.io/os_id': 'rhcos' } });
    const { code, stdout, stderr } = await migrate({ ...LISTS, '/api/v1/nodes': [node('m', [OLD]), worker] });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('node worker-0 belongs to OpenShift (label node.openshift.io/os_id)');
  });

  it('does not plan where a workload may be overlooked', async () => {
    const { code, stdout, stderr } = await migrate(LISTS, ['/apis/apps/v1/statefulsets']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('/apis/apps/v1/statefulsets: 403 Forbidden');
  });
});

it('makes no plan for OpenShift, which needs the old label and taint', async () => {
  const master = nodeObject([{ key: OLD, effect: 'NoSchedule' }], {
    name: 'master-0',
    labels: { [OLD]: '', [NEW]: '' },
    annotations: { 'machineconfiguration.openshift.io/currentConfig': 'rendered-master-1' },
  });
  const { code, stdout, stderr } = await run('coverage', 'migrate', file(master));
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toBe(
    `taintkeeper: node master-0 belongs to OpenShift (annotation machineconfiguration.openshift.io/currentConfig), so there is no plan. OpenShift selects the nodes of its control plane by the label ${OLD}, and sets the taint ${OLD} itself: keep both\n`,
  );
});

it.each<{ why: string; args: string[]; says: string }>([
  { why: 'a part of the cluster', args: ['-n', 'a'], says: "unknown option '-n'" },
  { why: 'a fix', args: ['--fix'], says: "unknown option '--fix'" },
])('is not for $why', async ({ args, says }) => {
  const { code, stderr } = await run('coverage', 'migrate', ...args, file(node('m', [OLD])));
  expect(code).toBe(2);
  expect(stderr).toContain(says);
});

it('says where a workload is not what it should be', async () => {
  const { code, stderr } = await run('coverage', 'migrate', file(node('m', []), { ...cronJob('c', {}), spec: {} }));
  expect(code).toBe(2);
  expect(stderr).toMatch(/input\.yaml:3:\d+: spec: jobTemplate is missing/);
});
