import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NAMESPACE, renderChart } from '../../scripts/chart.ts';
import type { PolicyStatus } from '../../src/policy/reporting/policy-status.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { obstacleToHelm } from '../control-plane/helm.ts';
import { taintkeeperAccount } from '../control-plane/replicas.ts';
import { admin, node } from '../control-plane/users.ts';
import { skipFor } from '../skip-for.ts';
import { AS_IN_A_CLUSTER, type Installation, install, readConfigurations, waitUntilProtected } from './installation.ts';
import { attempt, path, taintsOf } from './nodes.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy, installCrds, POLICIES_PATH } from './policy-resources.ts';
import { runTaintkeeper } from './run-taintkeeper.ts';

const TIMEOUT_MS = 45_000;
const DAEMON_SETS = '/apis/apps/v1/namespaces/kube-system/daemonsets';
const PODS = '/api/v1/namespaces/kube-system/pods';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const CLUSTER_ROLE = '/apis/rbac.authorization.k8s.io/v1/clusterroles/taintkeeper';
const IN_OWN_NAMESPACE = `/api/v1/namespaces/${NAMESPACE}`;
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';
const POOL = { key: 'example.com/pool', value: 'a', effect: 'NoSchedule' };
const TOLERATION = { key: 'example.com/pool', operator: 'Exists', effect: 'NoSchedule' };
const LEADER_ARGS = ['--owner-cluster-role', 'taintkeeper'];

async function apply(cp: ControlPlane, manifests: string): Promise<void> {
  expect(await cp.kubectl(['apply', '-f', '-'], { input: manifests })).toMatchObject({ code: 0 });
}

const renderSelfRestriction = () =>
  renderChart(['--show-only', 'templates/self-restriction.yaml', '--set', 'selfRestriction=true']);

async function create(cp: ControlPlane, url: string, body: object): Promise<void> {
  const { status, body: answer } = await cp.request(admin, 'POST', url, { body });
  expect(status, JSON.stringify(answer)).toBe(201);
}

/** One request with the rights of taintkeeper's ServiceAccount, which changes nothing. */
interface Request {
  readonly what: string;
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly body?: object;
  readonly contentType?: string;
}

const patch = (what: string, url: string, body: object): Request => ({
  what,
  method: 'PATCH',
  url,
  body,
  contentType: MERGE_PATCH,
});
const post = (what: string, url: string, body: object): Request => ({ what, method: 'POST', url, body });
/** What it may update and not patch: the object as it is, with other fields. */
const put = (what: string, url: string, body: object): Request => ({ what, method: 'PUT', url, body });
const remove = (what: string, url: string): Request => ({ what, method: 'DELETE', url });
const ofTemplate = (template: object) => ({ spec: { template } });
const ofPod = (spec: object) => ofTemplate({ spec });
const named = (name: string, more: object = {}) => ({ metadata: { name }, ...more });

const webhooks = (more: object = {}, clientConfig: object = {}) => ({
  webhooks: [
    {
      name: 'a.taintkeeper.dev',
      clientConfig: { service: { namespace: NAMESPACE, name: 'taintkeeper', path: '/mutate' }, ...clientConfig },
      rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['CREATE'] }],
      failurePolicy: 'Ignore',
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      ...more,
    },
  ],
});
const CONFIGURATION = `${ADMISSION}/mutatingwebhookconfigurations`;
const OWN_CONFIGURATION = `${CONFIGURATION}/taintkeeper`;
const secret = (name: string, type = 'kubernetes.io/tls') =>
  named(name, { type, stringData: { 'tls.crt': '', 'tls.key': '' } });
const event = (reportingController: string) => ({
  metadata: { namespace: 'default', name: 'e' },
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingController,
  reportingInstance: 'a',
  regarding: { apiVersion: 'v1', kind: 'Node', name: 'n1' },
  type: 'Normal',
  reason: 'Forged',
  action: 'Forge',
});

const FINALIZED = { finalizers: ['example.com/stay'] };

/** Stands for the uid of taintkeeper's namespace, which is known only in the cluster. */
const NAMESPACE_UID = 'UID-OF-THE-NAMESPACE';

const ATTACKS: readonly Request[] = [
  patch('a label of a node', path('n1'), { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } }),
  patch('to remove a label of a node', path('n1'), { metadata: { labels: { pool: null } } }),
  patch('another annotation of a node', path('n1'), { metadata: { annotations: { 'example.com/a': 'c' } } }),
  patch('to remove another annotation of a node', path('n1'), { metadata: { annotations: { 'example.com/a': null } } }),
  patch('an annotation with a similar prefix', path('n1'), {
    metadata: { annotations: { 'taintkeeper.device/a': 'b' } },
  }),
  patch('a finalizer of a node', path('n1'), { metadata: { finalizers: ['example.com/stay'] } }),
  patch('an owner of a node', path('n1'), {
    metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'gone', uid: '1' }] },
  }),
  patch('to cordon a node', path('n1'), { spec: { unschedulable: true } }),
  patch('podCIDR of a node', path('n1'), { spec: { podCIDR: '10.9.0.0/24', podCIDRs: ['10.9.0.0/24'] } }),
  patch('providerID of a node', path('n1'), { spec: { providerID: 'example://forged' } }),
  patch('a taint and a label of a node at once', path('n1'), {
    metadata: { labels: { a: 'b' } },
    spec: { taints: [POOL] },
  }),
  patch(
    'the image of a DaemonSet',
    `${DAEMON_SETS}/old`,
    ofPod({ containers: [{ name: 'old', image: 'e.invalid/evil' }] }),
  ),
  patch(
    'a command of a DaemonSet',
    `${DAEMON_SETS}/old`,
    ofPod({ containers: [{ name: 'old', image: 'old.invalid/old:1', command: ['sh'] }] }),
  ),
  patch('the service account of a DaemonSet', `${DAEMON_SETS}/old`, ofPod({ serviceAccountName: 'other' })),
  patch('hostNetwork of a DaemonSet', `${DAEMON_SETS}/old`, ofPod({ hostNetwork: true })),
  patch(
    'an init container of a DaemonSet',
    `${DAEMON_SETS}/old`,
    ofPod({ initContainers: [{ name: 'i', image: 'i' }] }),
  ),
  patch('nodeSelector of a DaemonSet', `${DAEMON_SETS}/old`, ofPod({ nodeSelector: { a: 'b' } })),
  patch('to remove tolerations of a DaemonSet', `${DAEMON_SETS}/old`, ofPod({ tolerations: [] })),
  patch('the update strategy of a DaemonSet', `${DAEMON_SETS}/old`, { spec: { updateStrategy: { type: 'OnDelete' } } }),
  patch('a label of a DaemonSet', `${DAEMON_SETS}/old`, { metadata: { labels: { a: 'b' } } }),
  patch('another annotation of a DaemonSet', `${DAEMON_SETS}/old`, { metadata: { annotations: { a: 'b' } } }),
  patch('a label of the pods of a DaemonSet', `${DAEMON_SETS}/old`, ofTemplate({ metadata: { labels: { a: 'b' } } })),
  patch(
    'another annotation of the pods of a DaemonSet',
    `${DAEMON_SETS}/old`,
    ofTemplate({ metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/old': 'unconfined' } } }),
  ),
  patch(
    'a rollout of a DaemonSet',
    `${DAEMON_SETS}/old`,
    ofTemplate({ metadata: { annotations: { 'taintkeeper.dev/restartedAt': 'now' } } }),
  ),
  remove('a running pod of a DaemonSet', `${PODS}/running`),
  remove('a Failed pod of no DaemonSet', `${PODS}/bare`),
  remove('a Failed pod that a DaemonSet owns but does not control', `${PODS}/owned`),
  post('another mutating webhook configuration', CONFIGURATION, named('evil', webhooks())),
  post(
    'another validating webhook configuration',
    `${ADMISSION}/validatingwebhookconfigurations`,
    named('evil', webhooks()),
  ),
  putWebhook('a webhook that leads to another Service', {
    clientConfig: { service: { namespace: 'evil', name: 'taintkeeper' } },
  }),
  putWebhook('a webhook that leads to a URL', { clientConfig: { url: 'https://evil.invalid' } }),
  putWebhook('a webhook for Secrets', {
    rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['secrets'], operations: ['CREATE'] }],
  }),
  putWebhook('a webhook for everything', {
    rules: [{ apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*'] }],
  }),
  putWebhook('a webhook that keeps nodes from registering', { failurePolicy: 'Fail' }),
  // One call after the other: together, they would take longer than the API server gives a request, also with failurePolicy Ignore.
  putWebhook('a webhook that may take long', { timeoutSeconds: 3 }),
  put('more webhooks than there are of its own', OWN_CONFIGURATION, {
    webhooks: Array.from({ length: 11 }, (_, index) => ({
      ...webhooks().webhooks[0],
      name: `w${index}.taintkeeper.dev`,
    })),
  }),
  remove('its ClusterRole', CLUSTER_ROLE),
  patch('rules of its ClusterRole', CLUSTER_ROLE, { rules: [] }),
  patch('a label of its ClusterRole', CLUSTER_ROLE, {
    metadata: { labels: { 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' } },
  }),
  patch('another owner of its ClusterRole', CLUSTER_ROLE, {
    metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'default', uid: '1' }] },
  }),
  ...[
    { what: 'with another uid', owner: { uid: '1' } },
    { what: 'of another apiVersion', owner: { apiVersion: 'v2' } },
    { what: 'of another API group', owner: { apiVersion: 'example.com/v1' } },
  ].map(({ what, owner }) =>
    patch(`its namespace ${what} as the owner of its ClusterRole`, CLUSTER_ROLE, {
      metadata: {
        ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: NAMESPACE, uid: NAMESPACE_UID, ...owner }],
      },
    }),
  ),
  ...[`secrets/taintkeeper-certs`, `configmaps/taintkeeper-default-policies`].map((object) =>
    patch(`the owner of ${object}`, `${IN_OWN_NAMESPACE}/${object}`, {
      metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: '1' }] },
    }),
  ),
  post('another Secret', `${IN_OWN_NAMESPACE}/secrets`, secret('other')),
  post('the token of a ServiceAccount', `${IN_OWN_NAMESPACE}/secrets`, {
    ...secret('other', 'kubernetes.io/service-account-token'),
    metadata: { name: 'other', annotations: { 'kubernetes.io/service-account.name': 'default' } },
  }),
  patch('the default policies', `${IN_OWN_NAMESPACE}/configmaps/taintkeeper-default-policies`, { data: { a: 'b' } }),
  post('another Lease', LEASES, named('taintkeeper-noexecute')),
  post(
    'another policy',
    POLICIES_PATH.TaintPolicy,
    policyObject('TaintPolicy', 'evil', { mode: 'Audit', taints: [{ key: 'a' }] }),
  ),
  post('an Event of another controller', EVENTS, event('kubelet')),
  // An object with a finalizer stays, and with it its namespace, or the webhooks that an administrator deletes.
  ...[`secrets/taintkeeper-certs`, `configmaps/taintkeeper-default-policies`].map((object) =>
    patch(`a finalizer of ${object}`, `${IN_OWN_NAMESPACE}/${object}`, { metadata: FINALIZED }),
  ),
  put('a finalizer of its Lease', `${LEASES}/taintkeeper`, { metadata: FINALIZED }),
  put('a finalizer of its webhook configuration', OWN_CONFIGURATION, { metadata: FINALIZED }),
  post('an Event with a finalizer', EVENTS, {
    ...event('taintkeeper.dev/taintkeeper'),
    metadata: { namespace: 'default', name: 'e', ...FINALIZED },
  }),
  post('a default policy with a finalizer', POLICIES_PATH.TaintPolicy, {
    ...policyObject('TaintPolicy', 'control-plane-taints', { mode: 'Audit', taints: [{ key: 'a' }] }),
    metadata: { name: 'control-plane-taints', ...FINALIZED },
  }),
];

/** A change of the one webhook of its own configuration. */
function putWebhook(what: string, change: object): Request {
  return put(what, OWN_CONFIGURATION, webhooks(change));
}

const PERMITTED: readonly Request[] = [
  patch('taints and its own annotations of a node', path('n1'), {
    metadata: { annotations: { 'taintkeeper.dev/allow-removal': 'x' } },
    spec: { taints: [POOL, { key: 'more', effect: 'NoSchedule' }] },
  }),
  patch('no taint of a node', path('n1'), { spec: { taints: null } }),
  patch('a toleration and its own annotation of a DaemonSet', `${DAEMON_SETS}/old`, {
    metadata: { annotations: { 'taintkeeper.dev/tolerations-added': 'x' } },
    ...ofPod({ tolerations: [{ key: 'old', operator: 'Exists' }, TOLERATION, { key: 'more', operator: 'Exists' }] }),
  }),
  patch('its namespace as the owner of its ClusterRole', CLUSTER_ROLE, {
    metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: NAMESPACE, uid: NAMESPACE_UID }] },
  }),
  remove('a Failed pod that a DaemonSet controls', `${PODS}/failed`),
  post('an Event of its own', EVENTS, event('taintkeeper.dev/taintkeeper')),
  put('its Lease', `${LEASES}/taintkeeper`, {}),
];

describe('the policies that limit taintkeeper itself', skipFor(obstacleToHelm()), () => {
  describeWithControlPlane('on an API server', { components: ['kube-controller-manager'] }, (cp) => {
    it('have no expression that the API server finds wrong', async () => {
      await installCrds(cp());
      await apply(cp(), await renderSelfRestriction());
      interface Checked {
        readonly metadata: { readonly name: string; readonly generation: number };
        readonly status?: { readonly observedGeneration?: number; readonly typeChecking?: object };
      }
      const policies = async () => {
        const { body } = await cp().request<{ items: Checked[] }>(
          admin,
          'GET',
          `${ADMISSION}/validatingadmissionpolicies`,
        );
        return body.items.filter(({ metadata }) => metadata.name.startsWith('taintkeeper-self-'));
      };
      const unchecked = async () =>
        (await policies()).filter(({ metadata, status }) => status?.observedGeneration !== metadata.generation);
      await expect.poll(unchecked, { timeout: TIMEOUT_MS }).toEqual([]);
      const found = await policies();
      expect(found).toHaveLength(8);
      for (const { metadata, status } of found)
        expect([metadata.name, status?.typeChecking]).toEqual([metadata.name, {}]);
    });
  });

  describeWithControlPlane('in an installation', {}, (cp) => {
    let installation: Installation;

    beforeAll(async () => {
      await apply(cp(), await renderSelfRestriction());
      installation = await install(cp(), ['patchDaemonSets', 'recoverPods', 'nativePolicies'], AS_IN_A_CLUSTER);
      const metadata = { name: 'n1', labels: { pool: 'a' }, annotations: { 'example.com/a': 'b' } };
      expect((await cp().request(node('n1'), 'POST', '/api/v1/nodes', { body: { metadata } })).status).toBe(201);
      const template = {
        metadata: { labels: { app: 'old' } },
        spec: {
          containers: [{ name: 'old', image: 'old.invalid/old:1' }],
          tolerations: [{ key: 'old', operator: 'Exists' }],
        },
      };
      await create(cp(), DAEMON_SETS, named('old', { spec: { selector: { matchLabels: { app: 'old' } }, template } }));
      const zero = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };
      await attempt(
        cp(),
        admin,
        'PATCH',
        `${DAEMON_SETS}/old/status`,
        { status: { ...zero, observedGeneration: 1 } },
        MERGE_PATCH,
      );
      await create(cp(), '/api/v1/namespaces/kube-system/serviceaccounts', named('default'));
      const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'old', uid: '1' };
      const pods: Record<string, { controller?: boolean; phase: string }> = {
        failed: { controller: true, phase: 'Failed' },
        running: { controller: true, phase: 'Running' },
        owned: { controller: false, phase: 'Failed' },
        bare: { phase: 'Failed' },
      };
      for (const [name, { controller, phase }] of Object.entries(pods)) {
        const ownerReferences = controller === undefined ? [] : [{ ...owner, controller }];
        const spec = { nodeName: 'n1', containers: [{ name: 'c', image: 'c.invalid/c' }] };
        await create(cp(), PODS, { metadata: { name, ownerReferences }, spec });
        expect(
          await attempt(cp(), admin, 'PATCH', `${PODS}/${name}/status`, { status: { phase } }, MERGE_PATCH),
        ).toMatchObject({ passed: true });
      }
      await installation.start(['a'], { args: LEADER_ARGS });
    });
    afterAll(() => installation?.stop());

    describe('the controllers work', () => {
      const conditionsOf = async (name: string) => {
        const { body } = await cp().request<{ status?: PolicyStatus }>(
          admin,
          'GET',
          `${POLICIES_PATH.TaintPolicy}/${name}`,
        );
        return Object.fromEntries((body.status?.conditions ?? []).map((condition) => [condition.type, condition]));
      };

      it('webhooks are registered and protect a node', { timeout: 2 * TIMEOUT_MS }, async () => {
        const metadata = { name: 'cp-1' };
        const taints = [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }];
        await create(cp(), '/api/v1/nodes', { metadata, spec: { taints } });
        await waitUntilProtected(cp(), 'cp-1');
      });

      it('a missing taint is set', async () => {
        const spec = {
          mode: 'Restore',
          nodeSelector: { matchLabels: { pool: 'a' } },
          taints: [{ ...POOL, ensure: 'Always' }],
          backstop: 'Native',
        };
        expect((await createPolicy(cp(), policyObject('TaintPolicy', 'pool', spec))).status).toBe(201);
        await expect
          .poll(() => taintsOf(cp(), 'n1'), { timeout: TIMEOUT_MS })
          .toContain('example.com/pool=a:NoSchedule');
      });

      it('a native policy is put in force', async () => {
        await expect
          .poll(async () => (await conditionsOf('pool')).Backstop, { timeout: TIMEOUT_MS })
          .toMatchObject({ status: 'True' });
      });

      it('a DaemonSet gets its toleration', async () => {
        const spec = {
          mode: 'Mutate',
          daemonSets: { namespaces: ['kube-system'] },
          tolerations: [TOLERATION],
          existing: 'Patch',
        };
        expect((await createPolicy(cp(), policyObject('TolerationPolicy', 'pool', spec))).status).toBe(201);
        const tolerations = async () => {
          const { body } = await cp().request<{ spec: { template: { spec: { tolerations: object[] } } } }>(
            admin,
            'GET',
            `${DAEMON_SETS}/old`,
          );
          return body.spec.template.spec.tolerations;
        };
        await expect.poll(tolerations, { timeout: TIMEOUT_MS }).toContainEqual(TOLERATION);
      });

      it('the CA is replaced in the Secret and in the webhook configurations', async () => {
        const bundles = async () =>
          (await readConfigurations(cp())).flatMap(({ webhooks }) =>
            (webhooks ?? []).map(({ clientConfig }) => clientConfig.caBundle),
          );
        const before = await bundles();
        expect(await runTaintkeeper(cp(), ['certs', 'rotate', '--ca'])).toMatchObject({ code: 0 });
        await expect
          .poll(async () => (await bundles()).every((bundle) => !before.includes(bundle)), { timeout: TIMEOUT_MS })
          .toBe(true);
      });

      it('Events and the owner of the ClusterRole are written', async () => {
        const events = async () => {
          const { body } = await cp().request<{ items: { reportingController?: string }[] }>(
            admin,
            'GET',
            '/apis/events.k8s.io/v1/events',
          );
          return body.items.map(({ reportingController }) => reportingController);
        };
        await expect.poll(events, { timeout: TIMEOUT_MS }).toContain('taintkeeper.dev/taintkeeper');
        const owners = async () => (await cp().request<{ metadata: object }>(admin, 'GET', CLUSTER_ROLE)).body.metadata;
        await expect
          .poll(owners, { timeout: TIMEOUT_MS })
          .toMatchObject({ ownerReferences: [{ kind: 'Namespace', name: NAMESPACE }] });
      });

      it('nothing that the leader wrote was refused', () => {
        expect(JSON.stringify(installation.replica('a').logs())).not.toContain('taintkeeper-self-');
      });
    });

    const send = async (request: Request) => {
      const { method, url, contentType } = request;
      const { body } = await withNamespaceUid(request);
      const target = `${url}?dryRun=All`;
      if (method !== 'PUT') return attempt(cp(), taintkeeperAccount, method, target, body, contentType);
      const { body: found } = await cp().request<{ metadata: object }>(admin, 'GET', url);
      const { metadata, ...fields } = body as { metadata?: object };
      const changed = { ...found, ...fields, metadata: { ...found.metadata, ...metadata } };
      return attempt(cp(), taintkeeperAccount, method, target, changed);
    };

    /** Replaces {@link NAMESPACE_UID}. */
    async function withNamespaceUid(request: Request): Promise<Request> {
      const text = JSON.stringify(request.body);
      if (!text?.includes(NAMESPACE_UID)) return request;
      const { body } = await cp().request<{ metadata: { uid: string } }>(
        admin,
        'GET',
        `/api/v1/namespaces/${NAMESPACE}`,
      );
      return { ...request, body: JSON.parse(text.replaceAll(NAMESPACE_UID, body.metadata.uid)) };
    }

    it.each(PERMITTED)('a request passes that the controllers make: $what', async (request) => {
      expect(await send(request)).toMatchObject({ passed: true });
    });

    it.each(ATTACKS)('a stolen token cannot change more: $what', async (request) => {
      const { passed, error } = await send(request);
      expect({ passed, error }).toEqual({
        passed: false,
        error: expect.stringMatching(
          /ValidatingAdmissionPolicy 'taintkeeper-self-\w+'.* denied request: taintkeeper may /,
        ),
      });
    });

    it('others are not limited', async () => {
      for (const request of ATTACKS.filter(({ contentType }) => contentType === MERGE_PATCH)) {
        const { error } = await attempt(
          cp(),
          admin,
          request.method,
          `${request.url}?dryRun=All`,
          request.body,
          MERGE_PATCH,
        );
        expect(error).not.toContain('taintkeeper-self-');
      }
    });

    it('with nativePolicies a stolen token can remove the limits: the API server evaluates no policy on policies', async () => {
      const url = `${ADMISSION}/validatingadmissionpolicybindings/taintkeeper-self-nodes`;
      expect(await send(remove('a binding', url))).toMatchObject({ passed: true });
    });
  });
});
