import { describe, expect, it } from 'vitest';
import { absentStatus } from '../cluster/client/absent.ts';
import { answer, clientFor, refusal, startFakeApi } from '../cluster/client/fake-api.ts';
import { manyTolerations } from '../judge/request/daemon-set-cases.ts';
import { run } from './run-command.ts';

const managedFields = [
  {
    manager: 'kubectl',
    operation: 'Update',
    time: '2026-01-02T03:04:05Z',
    fieldsV1: { 'f:spec': { 'f:taints': {}, 'f:template': {} } },
  },
];
/** Written after {@link managedFields}, without a field of the template. */
const REPLACED = [
  {
    ...{ manager: 'kubectl-replace', operation: 'Update', time: '2026-01-03T03:04:05Z' },
    fieldsV1: { 'f:metadata': { 'f:annotations': {} } },
  },
  {
    ...{ manager: 'taintkeeper', operation: 'Update', time: '2026-01-04T03:04:05Z' },
    fieldsV1: { 'f:spec': { 'f:template': {} } },
  },
];
const EDGE = { key: 'edge', effect: 'NoSchedule' };
const ROLE = { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' };
const node = (name: string, taints: readonly object[]) => ({ metadata: { name, managedFields }, spec: { taints } });
const policy = (name: string, spec: object) => ({
  metadata: { name, uid: name, generation: 1, resourceVersion: '1' },
  spec,
});
const owner = {
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'a', uid: 'u', controller: true }],
};
const podOf = (name: string, nodeName: string) => ({ metadata: { name, ...owner }, spec: { nodeName } });

const AGENTS = { mode: 'Mutate', daemonSets: { namespaces: ['ns'] }, tolerations: [{ ...EDGE, operator: 'Exists' }] };

const LISTS: Readonly<Record<string, readonly object[]>> = {
  '/api/v1/nodes': [node('n1', [EDGE]), node('n2', []), node('n3', [])],
  '/apis/taintkeeper.dev/v1alpha1/taintpolicies': [
    policy('pool', { mode: 'Audit', taints: [{ key: 'gpu', effect: 'NoSchedule', ensure: 'Always' }] }),
  ],
  '/apis/taintkeeper.dev/v1alpha1/tolerationrestrictions': [
    policy('secrets', { mode: 'Deny', taints: [{ key: 'secret' }] }),
  ],
  '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies': [policy('agents', AGENTS)],
  '/apis/taintkeeper.dev/v1alpha1/recoverypolicies': [],
  '/api/v1/pods': [],
  '/api/v1/namespaces/ns/pods': [podOf('a-2', 'n2')],
};
const OBJECTS: Readonly<Record<string, object>> = {
  '/api/v1/nodes/n1': node('n1', [EDGE]),
  '/apis/apps/v1/namespaces/ns/daemonsets/a': {
    metadata: { namespace: 'ns', name: 'a', uid: 'u', managedFields: [...REPLACED, ...managedFields] },
    spec: { selector: { matchLabels: { app: 'a' } }, template: { spec: {} } },
  },
  '/api/v1/namespaces/ns/pods/a-2': podOf('a-2', 'n2'),
  '/api/v1/namespaces/ns/pods/claiming': {
    metadata: { name: 'claiming' },
    spec: {
      serviceAccountName: 'builder',
      tolerations: [{ key: 'secret', value: 'blue', effect: 'NoSchedule' }],
      nodeName: 'n2',
      resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'single-gpu' }],
    },
  },
};

const DAEMON_SET_PATH = '/apis/apps/v1/namespaces/ns/daemonsets/a';
const DELETED = {
  metadata: { namespace: 'ns', name: 'a', uid: 'u', deletionTimestamp: '2026-01-05T03:04:05Z' },
  spec: { selector: { matchLabels: { app: 'a' } }, template: { spec: {} } },
};
const CROWDED = {
  metadata: { namespace: 'ns', name: 'a', uid: 'u' },
  spec: {
    selector: { matchLabels: { app: 'a' } },
    template: { spec: { tolerations: manyTolerations(257) } },
  },
};

const REFUSED = refusal(403, 'Forbidden', 'not you');

/** @param more objects and lists, by path, in place of the others */
async function explain(args: readonly string[], more: Readonly<Record<string, object>> = {}) {
  const api = await startFakeApi((request, response) => {
    const other = more[request.path];
    if (other === REFUSED) return answer(response, REFUSED, 403);
    if (other && !Array.isArray(other)) return answer(response, other);
    const items = other ?? LISTS[request.path];
    if (items) return answer(response, { metadata: { resourceVersion: '1' }, items });
    if (request.path.endsWith('/events')) return answer(response, REFUSED, 403);
    const object = OBJECTS[request.path];
    return object ? answer(response, object) : answer(response, absentStatus(request.path), 404);
  });
  const { file: kubeconfig } = await clientFor(api.url);
  return run('explain', ...args, '--kubeconfig', kubeconfig);
}

it('a node: taints, who wrote them, policies, what could not be read, and what to run', async () => {
  const { code, stdout } = await explain(['node', 'n1']);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^TAINT +STATE +WHY\nedge:NoSchedule +free +no policy covers it$/m);
  expect(stdout).toMatch(
    /^gpu:NoSchedule +missing +required by pool \(Audit, spec\.taints\[0\]\); mode Audit does not set it/m,
  );
  expect(stdout).toContain('\nspec.taints is owned by field manager "kubectl" (Update at 2026-01-02T03:04:05Z)\n\n');
  expect(stdout).toMatch(
    /^TAINTPOLICY +MODE +THIS NODE\npool +Audit +is selected\n\nnote: Events were not read: .*403 Forbidden/m,
  );
  expect(stdout).toMatch(/\n\nnext: kubectl taint node n1 gpu:NoSchedule\n$/);
});

describe('the pods of a node', () => {
  it('are listed if they do not tolerate its taints', async () => {
    const pod = (name: string, spec: object, more: object = {}) => ({
      metadata: { namespace: 'ns', name },
      spec: { nodeName: 'n1', ...spec },
      ...more,
    });
    const pods = [
      pod('lone', {}),
      pod('daemon', { tolerations: [{ operator: 'Exists' }] }),
      pod('done', {}, { status: { phase: 'Succeeded' } }),
    ];
    const { stdout } = await explain(['node', 'n1'], { '/api/v1/pods': pods });
    expect(stdout).toMatch(/^POD +DOES NOT TOLERATE\nns\/lone +edge:NoSchedule\n\n/m);
  });

  it('are not listed if the user may not read them, and a note says so', async () => {
    const api = await startFakeApi((request, response) =>
      request.path === '/api/v1/pods'
        ? answer(response, refusal(403, 'Forbidden', 'not you'), 403)
        : answer(response, OBJECTS[request.path] ?? { metadata: { resourceVersion: '1' }, items: [] }),
    );
    const { file: kubeconfig } = await clientFor(api.url);
    const { stdout } = await run('explain', 'node', 'n1', '--kubeconfig', kubeconfig);
    expect(stdout).toMatch(/^note: its pods were not read: .*403 Forbidden/m);
  });
});

it('a node with Events of other writers, which lack what those of taintkeeper have', async () => {
  const events = [
    { reason: 'A', note: 'earlier', eventTime: '2026-01-02T03:04:05.000000Z' },
    { reason: 'B', note: null, eventTime: null, series: null },
    { eventTime: null },
  ];
  const more = { '/apis/events.k8s.io/v1/namespaces/default/events': events };
  const { code, stdout } = await explain(['node', 'n1'], more);
  expect(code).toBe(1);
  expect(stdout).toMatch(/A +earlier$/m);
});

it('a DaemonSet: tolerations, where it runs, and where a pod is missing', async () => {
  const { code, stdout } = await explain(['daemonset', 'ns/a']);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^edge:NoSchedule +missing +required by agents \(Mutate, spec\.tolerations\[0\]\)$/m);
  expect(stdout).toMatch(/^it was last written by field manager "kubectl-replace" \(Update at 2026-01-03/m);
  expect(stdout).toMatch(/^1 +n1 +no +taint edge:NoSchedule$/m);
  expect(stdout).toMatch(/^2 +n2, n3 +yes$/m);
  expect(stdout).toMatch(/^MISSING PODS +WHICH NODES +WHY\n1 +n3 +it has no pod$/m);
  expect(stdout).toMatch(/^next: kubectl rollout restart -n ns daemonset a$/m);
});

describe('a DaemonSet that no policy gives its toleration: what to do', () => {
  const starting = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  it.each<{ where: string; more: Readonly<Record<string, object>>; next: string }>([
    {
      where: 'in mode Audit, a policy adds none',
      more: { '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies': [policy('agents', { ...AGENTS, mode: 'Audit' })] },
      next: 'TolerationPolicy agents requires the toleration, but adds none in mode Audit: set the policy to mode Mutate, then kubectl rollout restart -n ns daemonset a',
    },
    {
      where: 'no policy asks for it',
      more: { '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies': [] },
      next: 'taintkeeper coverage fix -n ns --daemonset a --taint edge | kubectl apply -f - && kubectl wait --for=condition=Ready tolerationpolicy/coverage-ns.5b92d1db && kubectl rollout restart -n ns daemonset a',
    },
    {
      where: 'it tolerates the role taint without a value, so that admission does not add the toleration of the policy',
      more: {
        '/api/v1/nodes': [node('n1', [{ ...ROLE, value: 'true' }])],
        '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies': [
          policy('roles', { mode: 'Mutate', daemonSets: { namespaces: ['ns'] } }),
        ],
        [DAEMON_SET_PATH]: {
          metadata: { namespace: 'ns', name: 'a', uid: 'u' },
          spec: { selector: { matchLabels: { app: 'a' } }, template: { spec: { tolerations: [ROLE] } } },
        },
      },
      next: 'taintkeeper coverage fix -n ns --daemonset a | kubectl apply -f - && kubectl wait --for=condition=Ready tolerationpolicy/coverage-ns.4353b469 && kubectl rollout restart -n ns daemonset a',
    },
    {
      where: 'with --audit, another policy would add none either',
      more: {
        '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies': [{ ...policy('agents', AGENTS), status: { audit: true } }],
      },
      next: 'taintkeeper runs with --audit and adds no toleration: run it without --audit, or add the toleration to the DaemonSet',
    },
    {
      where: 'with --audit, also for a transient taint',
      more: {
        '/api/v1/nodes': [node('n1', [starting])],
        '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies': [
          { ...policy('agents', { ...AGENTS, daemonSets: { namespaces: ['others'] } }), status: { audit: true } },
        ],
      },
      next: 'nothing, if it can wait until the taints above are removed. If it must run before, as a CNI must, add the toleration to the DaemonSet: taintkeeper runs with --audit and adds no toleration',
    },
    {
      where: 'the taint is transient, but may wait for the DaemonSet itself',
      more: {
        '/api/v1/nodes': [node('n1', [starting])],
        '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies': [],
      },
      next: 'nothing, if it can wait until the taints above are removed. If it must run before, as a CNI must, apply what this prints: taintkeeper coverage fix -n ns --daemonset a --taint node.kubernetes.io/not-ready',
    },
    {
      where: 'it has so many tolerations that policies add none',
      more: { [DAEMON_SET_PATH]: CROWDED },
      next: 'remove tolerations that its pods do not need, until it has 256 at most, or add the toleration to the DaemonSet',
    },
    {
      where: 'it has so many tolerations that policies add none, and no taint keeps it off at present',
      more: { [DAEMON_SET_PATH]: CROWDED, '/api/v1/nodes': [node('n2', [])] },
      next: 'remove tolerations that its pods do not need, until it has 256 at most, or add the toleration to the DaemonSet',
    },
    {
      where: 'it is being deleted, so that policies leave it alone',
      more: { [DAEMON_SET_PATH]: DELETED },
      next: 'nothing: it is being deleted',
    },
    {
      where: 'it is being deleted, and no policy asks for the toleration',
      more: { [DAEMON_SET_PATH]: DELETED, '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies': [] },
      next: 'nothing: it is being deleted',
    },
    {
      where: 'no policy can name the value of the taint',
      more: {
        '/api/v1/nodes': [node('n1', [{ ...EDGE, value: 'not valid' }])],
        '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies': [],
      },
      next: 'no policy can name it or the taint: if it is meant to run there, add the toleration to the DaemonSet',
    },
  ])('$where', async ({ more, next }) => {
    const { stdout } = await explain(['daemonset', 'ns/a'], more);
    expect(stdout.split('\n').find((line) => line.startsWith('next: '))).toBe(`next: ${next}`);
  });
});

describe('a DaemonSet that tolerates a NoExecute taint for some seconds', () => {
  const spec = { tolerations: [{ key: 'gpu', operator: 'Exists', tolerationSeconds: 60 }] };
  const evictedRepeatedly = {
    '/api/v1/nodes': [node('n1', [{ key: 'gpu', effect: 'NoExecute' }]), node('n2', [])],
    '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies': [],
    [DAEMON_SET_PATH]: {
      metadata: { namespace: 'ns', name: 'a', uid: 'u' },
      spec: { selector: { matchLabels: { app: 'a' } }, template: { spec } },
    },
    '/api/v1/namespaces/ns/pods/a-1': { ...podOf('a-1', 'n1'), spec: { ...spec, nodeName: 'n1' } },
  };

  it('is evicted repeatedly', async () => {
    const { stdout } = await explain(['daemonset', 'ns/a'], evictedRepeatedly);
    expect(stdout).toMatch(
      /^NODES +WHICH +RUNS +WHY\n1 +n1 +for a while +taint gpu:NoExecute evicts each pod after 60 s$/m,
    );
    expect(stdout).toMatch(/^1 +n2 +yes$/m);
    expect(stdout).toMatch(/^next: its pods are evicted repeatedly: remove tolerationSeconds /m);
    for (const object of [
      ['daemonset', 'ns/a'],
      ['pod', 'ns/a-1'],
    ]) {
      const data = JSON.parse((await explain([...object, '-o', 'json'], evictedRepeatedly)).stdout);
      expect(data).not.toHaveProperty('addedAgain');
      expect(data.places[0]).toEqual({
        nodes: ['n1'],
        runs: true,
        why: ['taint gpu:NoExecute evicts each pod after 60 s'],
        passing: false,
      });
    }
  });

  const toleration = { key: 'gpu', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 };
  const gpuPolicy = (mode: string, daemonSets: object = { namespaces: ['ns'] }, required: object = toleration) =>
    policy('gpu', { mode, daemonSets, tolerations: [{ ...toleration, key: 'other' }, required] });
  const withoutSeconds = { key: 'gpu', operator: 'Exists', effect: 'NoExecute' };
  const inDaemonSet =
    'remove tolerationSeconds from its first toleration that matches the taint above, or the toleration if it is not meant to run there';

  it.each([
    { where: 'the policy is in mode Audit, and adds nothing', policies: [gpuPolicy('Audit')], next: inDaemonSet },
    { where: 'its policy is for others', policies: [gpuPolicy('Mutate', { namespaces: ['b'] })], next: inDaemonSet },
    {
      where: 'a policy in mode Mutate adds it again',
      policies: [gpuPolicy('Mutate')],
      next: 'in TolerationPolicy gpu (Mutate, spec.tolerations[1]), remove tolerationSeconds, or the toleration if its DaemonSets are not meant to run there. Then do the same in the DaemonSet, for its first toleration that matches the taint above',
    },
    {
      where: 'that of the policy has no seconds',
      policies: [gpuPolicy('Mutate', undefined, withoutSeconds)],
      next: inDaemonSet,
    },
    {
      where: 'policies leave it alone',
      policies: [gpuPolicy('Mutate')],
      annotations: { 'taintkeeper.dev/ignore': 'true' },
      next: inDaemonSet,
    },
  ])('is evicted because of a toleration of a policy: $where', async ({ policies, annotations = {}, next }) => {
    const tolerations = [{ ...toleration, key: 'other' }, toleration];
    const { stdout } = await explain(['daemonset', 'ns/a'], {
      ...evictedRepeatedly,
      '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies': policies,
      [DAEMON_SET_PATH]: {
        metadata: { namespace: 'ns', name: 'a', uid: 'u', annotations },
        spec: { selector: { matchLabels: { app: 'a' } }, template: { spec: { tolerations } } },
      },
    });
    expect(stdout.split('\n').find((line) => line.startsWith('next: '))).toBe(
      `next: its pods are evicted repeatedly: ${next}`,
    );
  });

  it.each(['Mutate', 'Audit'])(
    'ends a toleration before that of a policy of mode %s: no rollout helps',
    async (mode) => {
      const { code, stdout } = await explain(['daemonset', 'ns/a'], {
        ...evictedRepeatedly,
        '/api/v1/nodes': [node('n2', [])],
        '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies': [gpuPolicy(mode, undefined, withoutSeconds)],
        [DAEMON_SET_PATH]: {
          metadata: { namespace: 'ns', name: 'a', uid: 'u' },
          spec: {
            selector: { matchLabels: { app: 'a' } },
            template: { spec: { tolerations: [{ ...toleration, key: 'other' }, toleration] } },
          },
        },
      });
      const by = `required by gpu (${mode}, spec.tolerations[1])`;
      expect(code).toBe(1);
      expect(stdout).toContain(
        `gpu:NoExecute without tolerationSeconds  missing   ${by}, but its own gpu:NoExecute for 60 s comes first\n`,
      );
      expect(stdout).toContain(
        `\nnext: change tolerationSeconds in the DaemonSet, in gpu:NoExecute for 60 s: gpu:NoExecute without tolerationSeconds is ${by}\n`,
      );
    },
  );

  it.each([
    { pod: 'a-1', where: 'on the node with the taint', next: 'taintkeeper explain daemonset ns/a' },
    { pod: 'a-2', where: 'on another node', next: 'nothing: it is scheduled' },
  ])('has a pod $where: $next', async ({ pod, next }) => {
    expect((await explain(['pod', `ns/${pod}`], evictedRepeatedly)).stdout).toContain(`next: ${next}\n`);
  });
});

it('a DaemonSet with more than 256 tolerations: policies add none to it', async () => {
  const told = 'it has more than 256 tolerations: no TolerationPolicy is applied to it';
  const { stdout } = await explain(['daemonset', 'ns/a'], { [DAEMON_SET_PATH]: CROWDED });
  expect(stdout).toContain(told);
  expect(stdout).toMatch(/^ *edge:NoSchedule +missing /m);
  const unselected = { '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies': [], [DAEMON_SET_PATH]: CROWDED };
  expect((await explain(['daemonset', 'ns/a'], unselected)).stdout).toMatch(/^next: remove tolerations that /m);
});

it('a DaemonSet that is being deleted, and its pod: it lacks nothing, and the reason is given', async () => {
  const more = { [DAEMON_SET_PATH]: DELETED };
  const { code, stdout } = await explain(['daemonset', 'ns/a'], more);
  expect(code).toBe(1);
  expect(stdout).toContain('it is being deleted: policies leave it alone');
  expect(stdout).not.toContain('missing');
  expect((await explain(['pod', 'ns/a-2'], more)).stdout).toContain(
    'its DaemonSet is being deleted: policies leave it alone',
  );
});

it('a pod with resource claims: taints of devices are not covered', async () => {
  const { stdout } = await explain(['pod', 'ns/claiming']);
  expect(stdout).toContain(
    'taints of their devices are not covered here, see kubectl get resourceslices,devicetaintrules',
  );
  expect((await explain(['pod', 'ns/a-2'])).stdout).not.toContain('devices');
});

it('a pod: how it is, and its DaemonSet', async () => {
  const { code, stdout } = await explain(['pod', 'ns/a-2', '-o', 'json']);
  expect(code).toBe(1);
  const data = JSON.parse(stdout);
  // They are of DaemonSets only.
  for (const key of ['missingPods', 'notRequired', 'unasked', 'tooManyTolerations', 'writtenBy'])
    expect(data).not.toHaveProperty(key);
  expect(data).toMatchObject({
    kind: 'pod',
    name: 'a-2',
    pod: { node: 'n2', state: 'scheduled' },
    managedBy: 'DaemonSet a',
    owner: { kind: 'DaemonSet', name: 'a' },
    tolerations: [{ toleration: 'edge:NoSchedule', state: 'missing' }],
    next: 'taintkeeper explain daemonset ns/a',
  });
});

it('a pod of an earlier template: only a new pod has the toleration', async () => {
  const tolerations = [{ ...EDGE, operator: 'Exists' }];
  const { code, stdout } = await explain(['pod', 'ns/a-2'], {
    [DAEMON_SET_PATH]: {
      metadata: { namespace: 'ns', name: 'a', uid: 'u' },
      spec: {
        selector: { matchLabels: { app: 'a' } },
        updateStrategy: { type: 'OnDelete' },
        template: { spec: { tolerations } },
      },
    },
  });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^edge:NoSchedule +missing /m);
  expect(stdout).toMatch(/^next: kubectl delete pod -n ns a-2\n {2}a new pod has the tolerations/m);
});

it.each([
  { kind: 'Job', code: 0, says: 'it is completed on node n2\n', next: 'nothing: it has completed' },
  // The controller replaces it.
  {
    kind: 'DaemonSet',
    code: 1,
    says: 'it is failed for node n2: its pod has Succeeded\n',
    next: 'taintkeeper explain daemonset ns/a',
  },
])('a pod of a $kind that has succeeded', async ({ kind, code, says, next }) => {
  const ownerReferences = [{ ...owner.ownerReferences[0], kind }];
  const explained = await explain(['pod', 'ns/a-2'], {
    '/api/v1/namespaces/ns/pods/a-2': {
      metadata: { name: 'a-2', ownerReferences },
      spec: { nodeName: 'n2' },
      status: { phase: 'Succeeded' },
    },
  });
  expect(explained.code).toBe(code);
  expect(explained.stdout).toContain(says);
  expect(explained.stdout).toContain(`\nnext: ${next}\n`);
});

it('a pod that tolerates what a TolerationRestriction names', async () => {
  const { stdout } = await explain(['pod', 'ns/claiming']);
  expect(stdout).toContain(
    'secret=blue:NoSchedule: TolerationRestriction secrets (Deny, spec.taints[0]) admits a new pod with it only if service account ns/builder, or the user ' +
      'who creates the pod without a controller, may tolerate secret: ' +
      'kubectl auth can-i tolerate taints.taintkeeper.dev/secret --as system:serviceaccount:ns:builder',
  );
  expect((await explain(['pod', 'ns/a-2'])).stdout).not.toContain('secrets');
});

it('nothing of what is not there', async () => {
  expect(await explain(['node', 'n9'])).toMatchObject({ code: 2, stderr: 'taintkeeper: node n9: not found\n' });
});

it('what the startup taints of a node wait for, by the rules of the leader', async () => {
  const taint = { key: 'example.com/network', effect: 'NoSchedule' };
  const readyWhen = { daemonSets: [{ namespace: 'ns', name: 'a' }] };
  const startup = policy('network', { mode: 'Restore', taints: [{ ...taint, ensure: 'UntilReady', readyWhen }] });
  const textOf = async (ageMs: number, policies: readonly object[] = [startup], pods: readonly object[] = []) => {
    const creationTimestamp = new Date(Date.now() - ageMs).toISOString();
    const { stdout } = await explain(['node', 'n4'], {
      '/api/v1/nodes/n4': { metadata: { name: 'n4', uid: 'u4', creationTimestamp }, spec: { taints: [taint] } },
      '/apis/taintkeeper.dev/v1alpha1/taintpolicies': policies,
      '/api/v1/pods': pods,
    });
    return /^startup taint.*$/m.exec(stdout)?.[0];
  };
  expect(await textOf(1_000)).toBe(
    'startup taint example.com/network:NoSchedule waits for DaemonSet ns/a: it has no pod on the node: taint example.com/network:NoSchedule is not tolerated',
  );
  const ready = (namespace: string) => ({
    metadata: { ...owner, name: 'p', namespace, creationTimestamp: new Date(Date.now() + 1_000).toISOString() },
    spec: { nodeName: 'n4' },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  });
  // An owner reference in another namespace is not checked by the API server.
  expect(await textOf(1_000, [startup], [ready('tenant')])).toContain('it has no pod on the node');
  expect(await textOf(1_000, [startup], [ready('ns')])).toContain('the leader removes it');
  // The age of the node does not matter: the taint waits.
  expect(await textOf(3_600_000, [startup], [ready('ns')])).toContain('the leader removes it');
  const always = policy('always', { mode: 'Restore', taints: [{ ...taint, ensure: 'Always' }] });
  expect(await textOf(1_000, [startup, always])).toBeUndefined();
});

it.each<{ part: string; readyWhen: object; list: string }>([
  {
    part: 'daemonSets',
    readyWhen: { daemonSets: [{ namespace: 'ns', name: 'large' }] },
    list: '/apis/apps/v1/namespaces/ns/daemonsets/large',
  },
  { part: 'allDaemonSets', readyWhen: { allDaemonSets: {} }, list: '/apis/apps/v1/daemonsets' },
])('startup taints wait for a DaemonSet of $part that is too large for the leader', async ({ readyWhen, list }) => {
  const taints = ['network', 'storage'].map((name) => ({ key: `example.com/${name}`, effect: 'NoSchedule' }));
  const values = Array.from({ length: 2_000 }, (_, index) => `node-${index}`);
  const nodeSelectorTerms = [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values }] }];
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
  const large = {
    metadata: { name: 'large', namespace: 'ns', uid: 'large' },
    spec: { selector: {}, template: { spec: { affinity } } },
  };
  const { stdout } = await explain(['node', 'n4'], {
    '/api/v1/nodes/n4': { metadata: { name: 'n4', uid: 'u4' }, spec: { taints } },
    '/apis/taintkeeper.dev/v1alpha1/taintpolicies': [
      policy('network', {
        mode: 'Restore',
        taints: taints.map((taint) => ({ ...taint, ensure: 'UntilReady', readyWhen })),
      }),
    ],
    '/api/v1/pods': [],
    [list]: list.endsWith('large') ? large : [large],
  });
  const waits = 'DaemonSet ns/large: the leader cannot read it; the log of the leader says why';
  expect(stdout).toContain(`waits for ${waits}`);
  // Once for each taint.
  expect(stdout.split(waits)).toHaveLength(3);
});

describe('a DaemonSet that a startup taint of a policy keeps off a node', () => {
  const OWN = { key: 'example.com/storage-not-ready', effect: 'NoSchedule' };
  const policiesWaitingFor = (name: string) => {
    const readyWhen = { daemonSets: [{ namespace: 'ns', name }] };
    return [policy('storage', { mode: 'Restore', taints: [{ ...OWN, ensure: 'UntilReady', readyWhen }] })];
  };
  const explained = (taintPolicies: object) =>
    explain(['daemonset', 'ns/a'], {
      '/api/v1/nodes': [node('new', [OWN])],
      '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies': [],
      '/apis/taintkeeper.dev/v1alpha1/taintpolicies': taintPolicies,
    });

  it('runs there soon, and nothing is to be done', async () => {
    const { code, stdout } = await explained(policiesWaitingFor('csi'));
    expect(stdout).toMatch(/^1 +new +not yet +taint example\.com\/storage-not-ready:NoSchedule$/m);
    expect(stdout).toMatch(/\nnext: nothing, if it can wait until the taints above are removed\. /);
    expect(code).toBe(0);
  });

  it.each([
    { why: 'the taint waits for it', taintPolicies: policiesWaitingFor('a'), notes: [] },
    { why: 'that is not known', taintPolicies: REFUSED, notes: ['note: TaintPolicies were not read'] },
    {
      why: 'the spec of the policy cannot be used',
      taintPolicies: [policy('storage', { mode: 'Sometimes' })],
      notes: ['note: TaintPolicy storage is left out here'],
    },
  ])('does not run there: $why', async ({ taintPolicies, notes }) => {
    const { code, stdout } = await explained(taintPolicies);
    expect(stdout).toMatch(/^1 +new +no +taint example\.com\/storage-not-ready:NoSchedule$/m);
    expect(stdout).toMatch(
      /\nnext: taintkeeper coverage fix -n ns --daemonset a --taint example\.com\/storage-not-ready /,
    );
    expect(stdout.match(/^note: TaintPolic[^:]+/gm) ?? []).toEqual(notes);
    expect(code).toBe(1);
  });
});

it('what a startup taint waits for in the node, its CSINode and all its DaemonSets, and for what it does not', async () => {
  const taint = { key: 'example.com/network', effect: 'NoSchedule' };
  const readyWhen = {
    allDaemonSets: { namespaces: ['ns'] },
    conditions: [{ type: 'A' }],
    csiDrivers: [{ name: 'csi.example.com' }],
    allocatable: [{ resource: 'example.com/gpu' }],
  };
  const daemonSet = (name: string, tolerations: readonly object[]) => ({
    metadata: { name, namespace: 'ns', uid: name },
    spec: { selector: {}, template: { spec: { tolerations } } },
  });
  const { stdout } = await explain(['node', 'n4'], {
    '/api/v1/nodes/n4': {
      metadata: { name: 'n4', uid: 'u4', creationTimestamp: new Date().toISOString() },
      spec: { taints: [taint] },
      status: { conditions: [{ type: 'A', status: 'False' }], allocatable: { 'example.com/gpu': '0' } },
    },
    '/apis/taintkeeper.dev/v1alpha1/taintpolicies': [
      policy('network', { mode: 'Restore', taints: [{ ...taint, ensure: 'UntilReady', readyWhen }] }),
    ],
    '/api/v1/pods': [],
    '/apis/apps/v1/daemonsets': [daemonSet('app', []), daemonSet('cni', [{ operator: 'Exists' }])],
    '/apis/storage.k8s.io/v1/csinodes/n4': { metadata: { name: 'n4' }, spec: { drivers: [] } },
  });
  expect(stdout).toContain(
    'startup taint example.com/network:NoSchedule waits for DaemonSet ns/cni: it has no pod on the node, and ' +
      'condition A=True: it is False, and CSI driver csi.example.com: the CSINode belongs to another Node of this name; if ' +
      'that stays so, restart the kubelet of the node, and resource example.com/gpu: the node has none that is allocatable',
  );
  expect(stdout).toContain(
    'startup taints do not wait for DaemonSet ns/app: taint example.com/network:NoSchedule is not tolerated',
  );
});
