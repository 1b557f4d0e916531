import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PolicyStatus } from '../../src/policy/reporting/policy-status.ts';
import { MERGE_PATCH, STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer, node, serviceAccount, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { guideLines } from './guide-commands.ts';
import { type Installation, install } from './installation.ts';
import { type Attempt, attempt } from './nodes.ts';
import { pasteRemedy } from './paste-remedy.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy, POLICIES_PATH } from './policy-resources.ts';
import { mayTolerate, permitPods, SOMEBODY } from './who-may.ts';

const TIMEOUT_MS = 45_000;
/** The garbage collector looks every 30 s whether there are new kinds of owners. */
const COLLECTED_TIMEOUT_MS = 60_000;
/** `gpu` refuses, `watched` reports. */
const POLICIES = [
  policyObject('TolerationRestriction', 'gpu', { mode: 'Deny', taints: [{ key: 'gpu', effect: 'NoSchedule' }] }),
  policyObject('TolerationRestriction', 'watched', {
    mode: 'Audit',
    taints: [{ key: 'watched', effect: 'NoSchedule' }],
  }),
];
const NATIVES = ['gpu', 'watched'].flatMap((policy) => [
  `${policy}.authorize-pods.taintkeeper.dev`,
  `${policy}.warn-workloads.taintkeeper.dev`,
]);

/** The namespace of a DaemonSet whose pods are refused. */
const RETRIED = 'retried';
/** After so many, the controller waits for 41 s. */
const REFUSALS = 14;
/** The controller must not try again before the guide's commands have run. */
const COMMANDS_MS = 30_000;
/** How long the DaemonSet controller waits after so many failures: client-go's default rate limiter. */
const backOffMs = (failures: number) => Math.min(5 * 2 ** (failures - 1), 1_000_000);

const EVERYTHING = [{ operator: 'Exists' }];
const GPU = [{ key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }];
const spec = (tolerations: object[] = [], more: object = {}) => ({
  containers: [{ name: 'c', image: 'example.com/c' }],
  tolerations,
  ...more,
});

/** What these tolerate in their own manifests. */
const DAEMONS = {
  'calico-system/calico-node': [
    { key: 'CriticalAddonsOnly', operator: 'Exists' },
    { effect: 'NoSchedule', operator: 'Exists' },
    { effect: 'NoExecute', operator: 'Exists' },
  ],
  'cilium/cilium': EVERYTHING,
  'multus/kube-multus-ds': [
    { operator: 'Exists', effect: 'NoSchedule' },
    { operator: 'Exists', effect: 'NoExecute' },
  ],
  'kube-system/kube-proxy': EVERYTHING,
};

const OPTIONS = {
  components: ['kube-controller-manager'],
  apiServerArgs: ['--enable-admission-plugins=NodeRestriction,ExtendedResourceToleration'],
} as const;

describeWithControlPlane('who may tolerate', OPTIONS, (cp) => {
  let installation: Installation;
  const start = (name: string) => installation.start([name], { args: ['--owner-cluster-role', 'taintkeeper'] });

  const pods = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;
  const create = (user: User, name: string, podSpec: object, metadata: object = {}, namespace = 'team') =>
    attempt(cp(), user, 'POST', pods(namespace), { metadata: { name, ...metadata }, spec: podSpec });
  const rehearse = (user: User, podSpec: object) =>
    attempt(cp(), user, 'POST', `${pods('team')}?dryRun=All`, { metadata: { name: 'p' }, spec: podSpec });
  const conditionOf = async (name: string) => {
    const { body } = await cp().request<{ status?: PolicyStatus }>(
      admin,
      'GET',
      `${POLICIES_PATH.TolerationRestriction}/${name}`,
    );
    return body.status?.conditions?.find(({ type }) => type === 'Ready');
  };
  /** Those that the leader has written: the manifest brings another one. */
  const natives = async () => {
    const { stdout } = await cp().kubectl([
      'get',
      'validatingadmissionpolicies,validatingadmissionpolicybindings',
      '-o',
      'name',
    ]);
    return stdout.split('\n').filter((name) => name.endsWith('.taintkeeper.dev'));
  };
  /** What controllers could not create, in the API server's words. */
  const failures = async (namespace: string) => {
    const url = `/api/v1/namespaces/${namespace}/events?fieldSelector=reason=FailedCreate`;
    const { body } = await cp().request<{ items: { message: string; involvedObject: { name: string } }[] }>(
      admin,
      'GET',
      url,
    );
    return body.items.map(({ message, involvedObject }) => `${involvedObject.name}: ${message}`);
  };
  const podsOf = async (namespace: string, app: string) => {
    const { body } = await cp().request<{ items: object[] }>(
      admin,
      'GET',
      `${pods(namespace)}?labelSelector=app=${app}`,
    );
    return body.items.length;
  };
  const workload = (name: string, podSpec: object, more: object = {}) => {
    const labels = { app: name };
    return {
      metadata: { name },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec }, ...more },
    };
  };

  beforeAll(async () => {
    installation = await install(cp(), ['nativePolicies']);
    await permitPods(cp(), [developer, SOMEBODY]);
    await mayTolerate(cp(), 'gpu', { kind: 'User', name: SOMEBODY.name });
    for (const name of ['team', RETRIED, 'calico-system', 'cilium', 'multus'])
      await cp().kubectl(['create', 'namespace', name]);
    expect(
      (await cp().request(node('n1'), 'POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } })).status,
    ).toBe(201);
    await start('a');
    for (const policy of POLICIES) expect((await createPolicy(cp(), policy)).status).toBe(201);
    for (const { metadata } of POLICIES) {
      let last: unknown;
      await waitUntil(
        async () => {
          const found = await conditionOf(metadata.name);
          last = found;
          return (found && !found.message.includes('not yet')) || undefined;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => `${metadata.name}: ${JSON.stringify(last)}` },
      );
    }
    // Its controller is refused for as long as the tests before its own one last.
    expect(await create(developer, 'p', spec(EVERYTHING), {}, RETRIED)).toMatchObject({ passed: false });
    const retried = { apiVersion: 'apps/v1', kind: 'DaemonSet', ...workload('retried', spec(EVERYTHING)) };
    expect(await attempt(cp(), admin, 'POST', `/apis/apps/v1/namespaces/${RETRIED}/daemonsets`, retried)).toMatchObject(
      { passed: true },
    );
    // From here on, there is nobody but the API server.
    await installation.stop();
    await waitUntil(async () => !(await rehearse(developer, spec(GPU))).passed || undefined, {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'no native policy refuses',
    });
    await waitUntil(async () => (await rehearse(developer, spec(EVERYTHING))).error !== '' || undefined, {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'no native policy refuses',
    });
  });
  afterAll(async () => {
    await installation?.stop();
  });

  it('the API server has nothing against the types in the native policies', async () => {
    for (const { metadata } of POLICIES) {
      expect(await conditionOf(metadata.name)).toMatchObject({ status: 'True', reason: 'InForce' });
    }
    expect(await natives()).toEqual(
      expect.arrayContaining(NATIVES.map((name) => `validatingadmissionpolicy.admissionregistration.k8s.io/${name}`)),
    );
  });

  describe('while taintkeeper is down', () => {
    const NEITHER = 'neither service account team/default nor dev@example.com may';
    it.each<{ what: string; podSpec: object; metadata?: object; by: string; who?: string }>([
      { what: 'tolerates everything', podSpec: spec(EVERYTHING), by: 'tolerates *' },
      {
        what: 'tolerates every NoSchedule taint',
        podSpec: spec([{ operator: 'Exists', effect: 'NoSchedule' }]),
        by: 'tolerates *:NoSchedule',
      },
      { what: 'tolerates the key', podSpec: spec(GPU), by: 'tolerates gpu:NoSchedule' },
      {
        what: 'has a nodeName',
        podSpec: spec([], { nodeName: 'n1' }),
        by: 'has a nodeName, which bypasses the scheduler',
      },
      {
        what: 'says that a DaemonSet controls it',
        podSpec: spec(EVERYTHING),
        metadata: {
          ownerReferences: [
            { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'kube-proxy', uid: '1', controller: true },
          ],
        },
        by: 'tolerates *',
        who: 'service account team/default may not',
      },
      {
        what: 'says that it is a mirror of a static pod',
        podSpec: spec(EVERYTHING, { nodeName: 'n1' }),
        metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } },
        by: 'tolerates *',
      },
    ])('a pod of a developer is refused that $what', async ({ podSpec, metadata, by, who = NEITHER }) => {
      const { passed, error } = await create(developer, 'refused', podSpec, metadata);
      expect(passed).toBe(false);
      expect(error).toContain(
        `TolerationRestriction gpu (spec.taints[0]): the pod ${by}, but ${who} tolerate gpu. ` +
          "To permit it, an administrator runs: kubectl create clusterrole tolerate:gpu --verb=tolerate --resource='*.taintkeeper.dev' " +
          '--resource-name=gpu; kubectl create clusterrolebinding tolerate:gpu:team:default --clusterrole=tolerate:gpu --serviceaccount=team:default',
      );
    });

    it.each<{ what: string; podSpec: object }>([
      { what: 'nothing', podSpec: spec() },
      { what: 'another key', podSpec: spec([{ key: 'other', operator: 'Exists' }]) },
      { what: 'another effect', podSpec: spec([{ operator: 'Exists', effect: 'NoExecute' }]) },
    ])('one passes without a word that tolerates $what', async ({ podSpec }) => {
      expect(await rehearse(developer, podSpec)).toEqual({ passed: true, error: '', warnings: [] });
    });

    it('one that a policy in Audit is about passes with a warning', async () => {
      const { passed, warnings } = await rehearse(developer, spec([{ key: 'watched', operator: 'Exists' }]));
      expect({ passed, warnings }).toEqual({
        passed: true,
        warnings: [
          expect.stringContaining(
            'TolerationRestriction watched, Audit (spec.taints[0]): the pod tolerates watched, but neither',
          ),
        ],
      });
    });

    it('the audit log and the metrics of the API server show whom a policy in Audit would refuse', async () => {
      const { passed } = await create(developer, 'audited', spec([{ key: 'watched', operator: 'Exists' }]));
      expect(passed).toBe(true);
      const recorded = () =>
        cp()
          .auditLog()
          .filter(({ verb, objectRef }) => verb === 'create' && objectRef?.resource === 'pods')
          .map(({ annotations = {} }) => annotations['validation.policy.admission.k8s.io/validation_failure']);
      await expect
        .poll(recorded, { timeout: TIMEOUT_MS })
        .toContainEqual(
          expect.stringContaining('TolerationRestriction watched, Audit (spec.taints[0]): the pod tolerates watched'),
        );
      const { stdout } = await cp().kubectl(['get', '--raw', '/metrics']);
      expect(stdout).toMatch(
        /^apiserver_validating_admission_policy_check_total\{enforcement_action="audit",[^}]*policy="watched\.authorize-pods\.taintkeeper\.dev",/m,
      );
    });

    it('an authorized user creates such a pod for a service account that is not authorized', async () => {
      expect((await create(SOMEBODY, 'somebodys', spec(GPU))).passed).toBe(true);
    });

    it('a right of a controller admits no pods of others', async () => {
      const everyController = { kind: 'Group', name: 'system:serviceaccounts:kube-system' } as const;
      const controllerManager = { kind: 'User', name: 'system:kube-controller-manager' } as const;
      const thirdParty = { kind: 'ServiceAccount', namespace: 'argo-rollouts', name: 'argo-rollouts' } as const;
      for (const subject of [everyController, controllerManager, thirdParty]) await mayTolerate(cp(), 'gpu', subject);
      const pod = { metadata: { name: 'p' }, spec: spec(GPU) };
      const controllers = [
        serviceAccount('kube-system', 'replicaset-controller'),
        serviceAccount('argo-rollouts', 'argo-rollouts'),
        { name: 'system:kube-controller-manager', groups: [] },
      ];
      await permitPods(cp(), controllers, 'controllers');
      const body = workload('confused', spec(EVERYTHING));
      expect((await attempt(cp(), developer, 'POST', '/apis/apps/v1/namespaces/team/deployments', body)).passed).toBe(
        true,
      );
      await expect
        .poll(() => failures('team'), { timeout: TIMEOUT_MS })
        .toContainEqual(expect.stringMatching(/^confused.*service account team\/default may not tolerate gpu/));
      expect(await podsOf('team', 'confused')).toBe(0);
      for (const user of controllers) {
        const { passed, error } = await attempt(cp(), user, 'POST', `${pods('team')}?dryRun=All`, pod);
        expect({ user: user.name, passed }).toEqual({ user: user.name, passed: false });
        expect(error).toContain('tolerates gpu:NoSchedule, but service account team/default may not tolerate gpu. ');
      }
    });

    it.each<{ what: string; user: User; metadata?: object; passed: boolean }>([
      { what: 'a person who is authorized', user: SOMEBODY, passed: true },
      {
        what: 'the administrator of k3s and OpenShift',
        user: { name: 'system:admin', groups: ['system:masters'] },
        passed: true,
      },
      {
        what: 'a controller that acts as a person',
        user: SOMEBODY,
        metadata: {
          ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'w', uid: '1', controller: true }],
        },
        passed: false,
      },
      {
        what: 'a person, for a pod that something else merely owns',
        user: SOMEBODY,
        metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'w', uid: '1' }] },
        passed: true,
      },
      {
        what: 'another user of the system',
        user: { name: 'system:apiserver', groups: ['system:masters'] },
        passed: false,
      },
    ])('the own right of the requester counts only for a person: $what', async ({ user, metadata = {}, passed }) => {
      const pod = { metadata: { name: 'p', ...metadata }, spec: spec(GPU) };
      expect((await attempt(cp(), user, 'POST', `${pods('team')}?dryRun=All`, pod)).passed).toBe(passed);
    });

    it('a toleration is not added to a pod that runs', async () => {
      expect((await create(developer, 'runs', spec())).passed).toBe(true);
      const { body } = await cp().request<{ spec: { tolerations: object[] } }>(admin, 'GET', `${pods('team')}/runs`);
      const patch = (user: User, change: object) =>
        attempt(cp(), user, 'PATCH', `${pods('team')}/runs`, change, MERGE_PATCH);
      const more = { spec: { tolerations: [...body.spec.tolerations, ...EVERYTHING] } };
      const refused = await patch(developer, more);
      expect(refused.error).toContain('the pod tolerates *, but neither');
      expect((await patch(SOMEBODY, more)).passed).toBe(true);
      // What it tolerates already is nobody's fault who changes something else.
      expect(await patch(developer, { metadata: { labels: { a: 'b' } } })).toMatchObject({
        passed: true,
        warnings: [],
      });
    });

    it('an ephemeral container brings a pod that runs no toleration', async () => {
      expect((await create(developer, 'debugged', spec())).passed).toBe(true);
      const url = `${pods('team')}/debugged`;
      const tolerations = async () => {
        const { body } = await cp().request<{ spec: { tolerations: object[] } }>(admin, 'GET', url);
        return body.spec.tolerations;
      };
      const before = await tolerations();
      const ephemeralContainers = [{ name: 'debugger', image: 'debugger' }];
      const change = { spec: { ephemeralContainers, tolerations: [...before, ...EVERYTHING] } };
      const containers = `${url}/ephemeralcontainers`;
      await attempt(cp(), admin, 'PATCH', containers, change, STRATEGIC_MERGE_PATCH);
      expect(await tolerations()).toEqual(before);
      // Alone, it is added.
      const alone = await attempt(
        cp(),
        admin,
        'PATCH',
        containers,
        { spec: { ephemeralContainers } },
        STRATEGIC_MERGE_PATCH,
      );
      expect(alone.error).toBe('');
      expect(await tolerations()).toEqual(before);
    });

    it('a node shows its static pods', async () => {
      const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.hash': 'x' } };
      const { metadata } = (await cp().request<{ metadata: { uid: string } }>(admin, 'GET', '/api/v1/nodes/n1')).body;
      const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: metadata.uid, controller: true }];
      const made = await create(
        node('n1'),
        'static-n1',
        spec(EVERYTHING, { nodeName: 'n1', automountServiceAccountToken: false, enableServiceLinks: true }),
        { ...mirror, ownerReferences },
      );
      expect(made).toMatchObject({ passed: true, warnings: [] });
    });

    it('the daemons of networks run in their namespaces', async () => {
      for (const [title, tolerations] of Object.entries(DAEMONS)) {
        const [namespace = '', name = ''] = title.split('/');
        const url = `/apis/apps/v1/namespaces/${namespace}/daemonsets`;
        expect(await attempt(cp(), developer, 'POST', url, workload(name, spec(tolerations)))).toMatchObject({
          passed: true,
          warnings: [],
        });
        await expect.poll(() => podsOf(namespace, name), { timeout: TIMEOUT_MS }).toBe(1);
        expect(await failures(namespace)).toEqual([]);
      }
    });

    it.each<{ what: string; path: string; body: object }>([
      { what: 'a DaemonSet', path: '/apis/apps/v1/namespaces/team/daemonsets', body: workload('w', spec(EVERYTHING)) },
      {
        what: 'a Deployment',
        path: '/apis/apps/v1/namespaces/team/deployments',
        body: workload('w', spec(EVERYTHING)),
      },
      {
        what: 'a StatefulSet',
        path: '/apis/apps/v1/namespaces/team/statefulsets',
        body: workload('w', spec(EVERYTHING)),
      },
      {
        what: 'a Job',
        path: '/apis/batch/v1/namespaces/team/jobs',
        body: { metadata: { name: 'w' }, spec: { template: { spec: spec(EVERYTHING, { restartPolicy: 'Never' }) } } },
      },
      {
        what: 'a CronJob',
        path: '/apis/batch/v1/namespaces/team/cronjobs',
        body: {
          metadata: { name: 'w' },
          spec: {
            schedule: '0 0 * * *',
            jobTemplate: { spec: { template: { spec: spec(EVERYTHING, { restartPolicy: 'Never' }) } } },
          },
        },
      },
    ])('$what passes with a warning, for an authorized user as well', async ({ path, body }) => {
      for (const user of [developer, SOMEBODY, admin]) {
        const { passed, warnings } = await attempt(cp(), user, 'POST', `${path}?dryRun=All`, body);
        expect(passed).toBe(true);
        expect(warnings).toEqual(
          expect.arrayContaining([
            expect.stringContaining(
              'TolerationRestriction gpu (spec.taints[0]): its pods will be refused: each tolerates *, but service account team/default may not tolerate gpu. ',
            ),
            expect.stringContaining(
              'TolerationRestriction watched (spec.taints[0]): its pods will be reported: each tolerates *',
            ),
          ]),
        );
      }
    });

    it('the pods of a Deployment and of a DaemonSet are refused, until the commands of the message were run', async () => {
      const manifests = {
        deployments: { apiVersion: 'apps/v1', kind: 'Deployment', ...workload('web', spec(GPU)) },
        daemonsets: { apiVersion: 'apps/v1', kind: 'DaemonSet', ...workload('agent', spec(EVERYTHING)) },
      };
      for (const [resource, body] of Object.entries(manifests)) {
        const made = await attempt(cp(), developer, 'POST', `/apis/apps/v1/namespaces/team/${resource}`, body);
        expect(made.passed).toBe(true);
        expect(made.warnings.join()).toContain('its pods will be refused');
      }
      for (const name of ['web', 'agent']) {
        const refused = new RegExp(
          `^${name}.*TolerationRestriction gpu .*service account team/default may not tolerate gpu`,
        );
        await expect
          .poll(() => failures('team'), { timeout: TIMEOUT_MS })
          .toContainEqual(expect.stringMatching(refused));
      }
      expect([await podsOf('team', 'web'), await podsOf('team', 'agent')]).toEqual([0, 0]);

      const [, commands = ''] =
        /an administrator runs: (.*)$/.exec((await rehearse(developer, spec(GPU))).error.trim()) ?? [];
      for (const command of commands.split('; ')) {
        const [program, ...args] = command.replaceAll("'", '').split(' ');
        expect(program).toBe('kubectl');
        expect(await cp().kubectl(args)).toMatchObject({ code: 0 });
      }
      // Neither the message of one policy nor the other: `watched` reports, which controllers do not mind.
      await expect.poll(() => podsOf('team', 'web'), { timeout: TIMEOUT_MS }).toBe(1);
      await expect.poll(() => podsOf('team', 'agent'), { timeout: TIMEOUT_MS }).toBe(1);
      await expect
        .poll(async (): Promise<Attempt> => rehearse(developer, spec(GPU)))
        .toEqual({ passed: true, error: '', warnings: [] });
    });
  });

  it('follows its spec', async () => {
    await installation.proxy.stop();
    installation = await install(cp(), ['nativePolicies']);
    await start('b');
    const other = [{ key: 'other', operator: 'Exists' }];
    expect(await rehearse(developer, spec(other))).toMatchObject({ passed: true });
    const change = { spec: { taints: [{ key: 'other' }] } };
    const url = `${POLICIES_PATH.TolerationRestriction}/gpu`;
    expect(await attempt(cp(), admin, 'PATCH', url, change, MERGE_PATCH)).toMatchObject({ passed: true });
    await expect
      .poll(async () => (await rehearse(developer, spec(other))).error, { timeout: TIMEOUT_MS })
      .toContain('may tolerate other. ');
    expect(await natives()).toHaveLength(8);
    await expect.poll(() => conditionOf('gpu'), { timeout: TIMEOUT_MS }).toMatchObject({ observedGeneration: 2 });
  });

  it('counts the toleration that ExtendedResourceToleration adds', async () => {
    const change = { spec: { taints: [{ key: 'example.com/device' }] } };
    const url = `${POLICIES_PATH.TolerationRestriction}/gpu`;
    expect(await attempt(cp(), admin, 'PATCH', url, change, MERGE_PATCH)).toMatchObject({ passed: true });
    const resources = { limits: { 'example.com/device': '1' } };
    const podSpec = { containers: [{ name: 'c', image: 'example.com/c', resources }] };
    await expect
      .poll(async () => (await rehearse(developer, podSpec)).error, { timeout: TIMEOUT_MS })
      .toContain('the pod tolerates example.com/device:NoSchedule, but ');
  });

  it('on call: a DaemonSet that was refused for long gets its pods at once by an annotation', {
    timeout: 5 * TIMEOUT_MS,
  }, async () => {
    /** When the controller was refused, in milliseconds since 1970. */
    const refusals = () =>
      cp()
        .auditLog()
        .filter(
          ({ verb, objectRef, responseStatus, user }) =>
            verb === 'create' &&
            objectRef?.resource === 'pods' &&
            objectRef.namespace === RETRIED &&
            user.username.endsWith(':daemon-set-controller') &&
            responseStatus?.code !== 201,
        )
        .map(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp));
    const leftMs = (refused: readonly number[]) => (refused.at(-1) ?? 0) + backOffMs(refused.length) - Date.now();
    const waitsLong = (refused: readonly number[]) => refused.length >= REFUSALS && leftMs(refused) > COMMANDS_MS;
    await expect.poll(refusals, { timeout: 3 * TIMEOUT_MS }).toSatisfy(waitsLong);
    const [audit = '', retry = ''] = guideLines('on-call.md', 'Let refused daemon pods pass');
    await pasteRemedy(cp(), audit.replace('POLICY', 'gpu'));
    const rehearseThere = () =>
      attempt(cp(), SOMEBODY, 'POST', `${pods(RETRIED)}?dryRun=All`, {
        metadata: { name: 'p' },
        spec: spec(EVERYTHING),
      });
    await expect.poll(async () => (await rehearseThere()).passed, { timeout: TIMEOUT_MS }).toBe(true);
    expect(await podsOf(RETRIED, 'retried'), 'the controller waits').toBe(0);
    await pasteRemedy(cp(), retry.replaceAll('NAMESPACE', RETRIED).replaceAll('DAEMONSET', 'retried'));
    await expect.poll(() => podsOf(RETRIED, 'retried'), { timeout: TIMEOUT_MS }).toBe(1);
    expect(leftMs(refusals())).toBeGreaterThan(0);
  });

  it('is removed with its TolerationRestriction, also while taintkeeper is down', {
    timeout: 2 * COLLECTED_TIMEOUT_MS,
  }, async () => {
    await installation.stop();
    await cp().kubectl(['delete', 'tolerationrestriction', 'watched']);
    await expect
      .poll(natives, { timeout: COLLECTED_TIMEOUT_MS })
      .not.toContain(`validatingadmissionpolicy.admissionregistration.k8s.io/${NATIVES[2]}`);
    await expect
      .poll(async () => (await rehearse(developer, spec([{ key: 'watched', operator: 'Exists' }]))).warnings, {
        timeout: TIMEOUT_MS,
      })
      .toEqual([]);
  });
});
