import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { Claim } from '../../../src/coverage/tolerating.ts';
import { absentStatus } from '../cluster/client/absent.ts';
import { answer, clientFor, type FakeApi, refusal, startFakeApi } from '../cluster/client/fake-api.ts';
import { temporaryFile } from '../temporary-directory.ts';
import { run } from './run-command.ts';

const EVERYTHING = [{ operator: 'Exists' }];

function file(...objects: object[]): string {
  return temporaryFile('input.yaml', objects.map((each) => JSON.stringify(each)).join('\n---\n'));
}

const pod = (name: string, spec: object = { tolerations: EVERYTHING }, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'team', ...metadata },
  spec,
});
const workload = (kind: string, name: string, spec: object = { tolerations: EVERYTHING }, metadata: object = {}) => ({
  apiVersion: kind === 'Job' ? 'batch/v1' : 'apps/v1',
  kind,
  metadata: { name, namespace: 'team', ...metadata },
  spec: { template: { spec } },
});
const cronJob = {
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: { name: 'nightly', namespace: 'team' },
  spec: { jobTemplate: { spec: { template: { spec: { serviceAccountName: 'runner', tolerations: EVERYTHING } } } } },
};
const ownedBy = (kind: string) => ({ ownerReferences: [{ kind, name: 'x', controller: true }] });
const policy = (spec: object = {}) => ({
  apiVersion: 'taintkeeper.dev/v1alpha1',
  kind: 'TolerationRestriction',
  metadata: { name: 'p' },
  spec: { mode: 'Audit', taints: [{ key: 'gpu' }], ...spec },
});

describe('of files', () => {
  it('shows what is asked who may tolerate, and ends in 1', async () => {
    const objects = [
      workload('Deployment', 'web'),
      workload('Job', 'once', { nodeName: 'n1' }),
      cronJob,
      pod('debug', { serviceAccountName: 'debug', tolerations: [{ key: 'gpu', operator: 'Exists' }] }),
      pod('harmless', {}),
      pod('system', undefined, { namespace: 'kube-system' }),
    ];
    const { code, stdout } = await run(
      'coverage',
      'tolerations',
      '--policies',
      file(policy({ mode: 'Deny' })),
      file(...objects),
    );
    expect(stdout.split('\n')).toEqual([
      'SERVICE ACCOUNT  MAY NOT TOLERATE  WORKLOADS                 PODS  BY           POLICY',
      'team/debug *     gpu               Pod/debug                 0     gpu          p (spec.taints[0], Deny)',
      'team/default     gpu               Deployment/web, Job/once  0     *, nodeName  p (spec.taints[0], Deny)',
      'team/runner      gpu               CronJob/nightly           0     *            p (spec.taints[0], Deny)',
      '',
      'Tolerate drained or dead nodes:',
      'WORKLOAD                TOLERATES  RESULT                                                        CHANGE',
      'Pod kube-system/system  *          can be scheduled to drained nodes; stays bound to dead nodes  replace it with tolerations that each name a key, and create the Pod again, because that cannot be changed',
      'CronJob team/nightly    *          returns to drained nodes; stays bound to dead nodes           replace it with tolerations that each name a key',
      'Deployment team/web     *          returns to drained nodes; stays bound to dead nodes           replace it with tolerations that each name a key',
      '',
      'note: without a cluster, no user is known to be authorized',
      '',
      '* unless an authorized person creates these pods: the right of a controller does not count',
      '3 authorizations missing: --fix prints what grants all',
      '',
    ]);
    expect(code).toBe(1);
  });

  it('reads a template that the API server does not check, as that of a StatefulSet on Kubernetes 1.33', async () => {
    const tolerations = [{ key: 'k'.repeat(400), operator: 'Exists', value: 'v'.repeat(64) }];
    const objects = [workload('StatefulSet', 'odd', { tolerations }), workload('Deployment', 'web')];
    const { code, stdout } = await run('coverage', 'tolerations', '--policies', file(policy()), file(...objects));
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/Deployment\/web/) });
  });

  it('with -o wide leaves no workload out', async () => {
    const input = file(...Array.from({ length: 8 }, (_, index) => workload('Deployment', `web-${index}`)));
    const shown = async (format: string) =>
      (await run('coverage', 'tolerations', '--taint', 'gpu', '-o', format, input)).stdout.split('\n')[1] ?? '';
    expect(await shown('table')).toContain('web-2, and 5 more');
    expect(await shown('wide')).toContain('Deployment/web-6, Deployment/web-7');
  });

  it('with --fix prints what authorizes them, one role for each key', async () => {
    const { code, stdout } = await run(
      ...['coverage', 'tolerations', '--taint', 'gpu', '--taint', 'example.com/a', '--fix'],
      file(workload('Deployment', 'web'), cronJob),
    );
    expect(code).toBe(0);
    const objects = parseAllDocuments(stdout)
      .map((document) => document.toJSON())
      .filter(Boolean);
    expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'ClusterRole tolerate:example.com:a',
      'ClusterRoleBinding tolerate:example.com:a:team:default',
      'ClusterRoleBinding tolerate:example.com:a:team:runner',
      'ClusterRole tolerate:gpu',
      'ClusterRoleBinding tolerate:gpu:team:default',
      'ClusterRoleBinding tolerate:gpu:team:runner',
    ]);
    expect(objects.slice(3, 5)).toEqual([
      expect.objectContaining({
        rules: [{ apiGroups: ['taintkeeper.dev'], resources: ['taints'], resourceNames: ['gpu'], verbs: ['tolerate'] }],
      }),
      expect.objectContaining({
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'tolerate:gpu' },
        subjects: [{ kind: 'ServiceAccount', namespace: 'team', name: 'default' }],
      }),
    ]);
  });

  it('names workloads that tolerate drained or dead nodes, also without a key', async () => {
    const typha = workload(
      'Deployment',
      'calico-typha',
      {
        tolerations: [
          { key: 'CriticalAddonsOnly', operator: 'Exists' },
          { effect: 'NoSchedule', operator: 'Exists' },
          { effect: 'NoExecute', operator: 'Exists' },
        ],
      },
      ownedBy('Installation'),
    );
    const release = { 'meta.helm.sh/release-name': 'tigera' };
    const operator = workload('Deployment', 'tigera-operator', undefined, { annotations: release });
    const mirror = pod('etcd-n1', undefined, { annotations: { 'kubernetes.io/config.mirror': 'x' } });
    const others = [workload('DaemonSet', 'calico-node'), workload('Deployment', 'web', {}), mirror];
    const all = file(typha, operator, ...others);
    const { code, stdout } = await run('coverage', 'tolerations', all);
    expect(stdout.split('\n')).toEqual([
      'Tolerate drained or dead nodes:',
      'WORKLOAD                         TOLERATES     RESULT                                               CHANGE',
      'Deployment team/calico-typha     *:NoSchedule  returns to drained nodes                             replace it with tolerations that each name a key, in Installation x',
      'Deployment team/calico-typha     *:NoExecute   stays bound to dead nodes                            replace it with tolerations that each name a key, in Installation x',
      'Deployment team/tigera-operator  *             returns to drained nodes; stays bound to dead nodes  replace it with tolerations that each name a key (managed by Helm, for release tigera: change it there, too)',
      '',
      'note: authorization to tolerate keys is not shown: pass keys with --taint, or the policies with --policies',
      '',
    ]);
    expect(code).toBe(0);
    const { stdout: json } = await run('coverage', 'tolerations', '-n', 'team', '-o', 'json', all);
    expect(JSON.parse(json)).toMatchObject({
      refused: [],
      wideTolerations: [
        { kind: 'Deployment', namespace: 'team', name: 'calico-typha', toleration: '*:NoSchedule', staysOn: [] },
        { name: 'calico-typha', toleration: '*:NoExecute', returnsTo: [] },
        { name: 'tigera-operator', toleration: '*' },
      ],
    });
    expect((await run('coverage', 'tolerations', '-n', 'other', all)).stdout).toMatch(/^no workload tolerates/m);
  });

  it('says so where no pod would be refused and no workload tolerates drained or dead nodes', async () => {
    const { code, stdout } = await run('coverage', 'tolerations', '--taint', 'gpu', file(pod('harmless', {})));
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'no pod would be refused\nno workload tolerates drained or dead nodes\n',
    });
  });

  it.each<{ args: () => string[]; said: string }>([
    { args: () => ['--fix', file(pod('p'))], said: 'pass keys with --taint, or policies with --policies' },
    { args: () => ['--taint', 'a*', file(pod('p'))], said: '--taint a*: "a*" is not allowed here' },
    {
      args: () => ['--taint', 'a', file(policy())],
      said: 'no Pod, DaemonSet, Deployment, StatefulSet, Job, CronJob found',
    },
    {
      args: () => ['--taint', 'a', '--policies', 'x', file(pod('p'))],
      said: "'--taint <key>' cannot be used with option '--policies <path>'",
    },
    {
      args: () => ['--taint', 'a', '--gaps', file(pod('p'))],
      said: "unknown option '--gaps'",
    },
    {
      args: () => [
        '--policies',
        file({
          ...policy(),
          kind: 'TaintPolicy',
          spec: { mode: 'Deny', taints: [{ key: 'a' }] },
        }),
        file(pod('p')),
      ],
      said: 'there are no TolerationRestrictions',
    },
  ])('refuses what makes no sense: $said', async ({ args, said }) => {
    const { code, stderr } = await run('coverage', 'tolerations', ...args());
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(said) });
  });
});

describe('of a cluster', () => {
  /** @param may what the API server answers to who may */
  async function start(may: (user: string) => boolean | 'forbidden', policies = [policy()]): Promise<FakeApi> {
    const lists: Record<string, readonly object[]> = {
      '/apis/taintkeeper.dev/v1alpha1/tolerationrestrictions': policies.map((each) => ({
        ...each,
        metadata: { name: 'p', uid: 'u', resourceVersion: '1', generation: 1 },
      })),
      '/api/v1/pods': [
        // Who chose its node, nobody knows.
        pod('scheduled', { nodeName: 'n1' }),
        pod('web-1', undefined, ownedBy('ReplicaSet')),
        pod('web-2', undefined, ownedBy('ReplicaSet')),
        pod('taintkeeper-1', undefined, { namespace: 'guard', ...ownedBy('ReplicaSet') }),
        pod('static-n1', undefined, { annotations: { 'kubernetes.io/config.mirror': 'x' }, ...ownedBy('Node') }),
      ],
      '/apis/apps/v1/daemonsets': [
        workload('DaemonSet', 'agent', { serviceAccountName: 'agent', tolerations: EVERYTHING }),
      ],
      '/apis/apps/v1/deployments': [
        // A user who may create a Deployment in one namespace can give it the labels of taintkeeper.
        workload('Deployment', 'web', undefined, { labels: { 'app.kubernetes.io/name': 'taintkeeper' } }),
        // Native policies do not ask about the namespace of taintkeeper itself.
        workload('Deployment', 'tk', undefined, { namespace: 'guard' }),
      ],
      '/apis/apps/v1/statefulsets': [],
      '/apis/batch/v1/jobs': [workload('Job', 'nightly-1', undefined, ownedBy('CronJob'))],
      '/apis/batch/v1/cronjobs': [cronJob],
      '/apis/rbac.authorization.k8s.io/v1/clusterroles': [
        {
          metadata: { name: 'gpu' },
          rules: [
            { apiGroups: ['taintkeeper.dev'], resources: ['taints'], resourceNames: ['gpu'], verbs: ['tolerate'] },
          ],
        },
        { metadata: { name: 'aggregated' }, rules: null },
      ],
      '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings': [
        { metadata: { name: 'nobody' }, roleRef: { name: 'gpu' } },
        {
          metadata: { name: 'broad' },
          roleRef: { name: 'gpu' },
          subjects: [{ kind: 'Group', name: 'system:serviceaccounts:kube-system' }],
        },
      ],
    };
    return startFakeApi((request, response) => {
      const items = lists[request.path];
      if (items) return answer(response, { metadata: { resourceVersion: '1' }, items });
      if (request.path.endsWith('/clusterrolebindings/taintkeeper')) {
        return answer(response, { subjects: [{ kind: 'ServiceAccount', namespace: 'guard', name: 'taintkeeper' }] });
      }
      if (request.method === 'GET') return answer(response, absentStatus(request.path), 404);
      const { user } = (JSON.parse(request.body) as { spec: { user: string } }).spec;
      const allowed = may(user);
      if (allowed === 'forbidden') return answer(response, refusal(403, 'Forbidden', 'not you'), 403);
      answer(response, { status: { allowed } });
    });
  }

  async function coverage(api: FakeApi, ...args: string[]) {
    const { file: kubeconfig } = await clientFor(api.url);
    return run('coverage', 'tolerations', '--kubeconfig', kubeconfig, '-o', 'json', ...args);
  }

  it('asks the API server as the native policies do, and shows who may not', async () => {
    const api = await start((user) => user === 'system:serviceaccount:team:agent');
    const { code, stdout } = await coverage(api);
    expect(code).toBe(1);
    const { refused } = JSON.parse(stdout) as { refused: Claim[] };
    expect(refused).toMatchObject([
      { serviceAccount: 'default', workloads: ['Deployment/web'], pods: 2, by: ['*'], isBare: false },
      { serviceAccount: 'runner', workloads: ['CronJob/nightly'], pods: 0 },
    ]);
    const asked = api.received
      .filter(({ path }) => path.endsWith('subjectaccessreviews'))
      .map(({ body }) => JSON.parse(body).spec);
    expect(asked).toContainEqual({
      user: 'system:serviceaccount:team:agent',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:team'],
      resourceAttributes: { group: 'taintkeeper.dev', resource: 'taints', verb: 'tolerate', name: 'gpu' },
    });
    expect(asked).toHaveLength(3);
  });

  it('ends in 0 where all may', async () => {
    expect(await coverage(await start(() => true))).toMatchObject({ code: 0 });
  });

  it('names bindings that reach whole groups, with what to do', async () => {
    const { stdout } = await coverage(await start(() => true));
    expect(JSON.parse(stdout).notes).toEqual([
      'ClusterRoleBinding broad lets Group system:serviceaccounts:kube-system tolerate gpu: every pod in namespace kube-system may; ' +
        'bind only the service accounts that need it',
    ]);
    const text = await coverage(await start(() => true), '-o', 'table');
    expect(text.stdout).toMatch(/^note: ClusterRoleBinding broad lets .*\n\nno pod would be refused\n$/m);
  });

  it('names what tolerates drained or dead nodes without asking for rights, where no policy restricts a key', async () => {
    const api = await start(() => 'forbidden', []);
    const { code, stdout } = await coverage(api);
    expect(code).toBe(0);
    const { refused, wideTolerations, notes } = JSON.parse(stdout);
    expect(refused).toEqual([]);
    expect(wideTolerations.map(({ kind, name }: { kind: string; name: string }) => `${kind} ${name}`)).toEqual([
      'Deployment tk',
      'ReplicaSet x',
      'CronJob nightly',
      'Deployment web',
      'ReplicaSet x',
    ]);
    expect(notes).toEqual([expect.stringContaining('there are no TolerationRestrictions')]);
    expect(api.received.map(({ path }) => path).filter((path) => /authorization/.test(path))).toEqual([]);
    expect(await coverage(api, '--fix')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no TolerationRestrictions'),
    });
  });

  it('says which right it needs', async () => {
    const { code, stderr } = await coverage(await start(() => 'forbidden'));
    expect(code).toBe(2);
    expect(stderr).toContain('that needs the verb create on subjectaccessreviews.authorization.k8s.io');
  });
});
