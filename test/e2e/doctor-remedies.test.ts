import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ADMISSION_REGISTRATION_V1_PATH,
  CONFIGURATIONS,
} from '../../src/cluster/admission-registration/webhook-configurations.ts';
import { type ApiClient, connect } from '../../src/cluster/client/api-client.ts';
import { POLICY_RESOURCES } from '../../src/cluster/policies/policy-paths.ts';
import type { CheckName } from '../../src/doctor/check.ts';
import { checkAdmission } from '../../src/doctor/checks/admission.ts';
import { checkEndpoints } from '../../src/doctor/checks/endpoints.ts';
import { checkFailedCalls } from '../../src/doctor/checks/failed-calls.ts';
import { checkIgnoredDaemonSets } from '../../src/doctor/checks/ignored-daemon-sets.ts';
import { checkOptionalRights } from '../../src/doctor/checks/optional-rights.ts';
import { checkOtherWebhooks } from '../../src/doctor/checks/other-webhooks.ts';
import { checkPolicies } from '../../src/doctor/checks/policies.ts';
import { checkReplicas } from '../../src/doctor/checks/replicas/replicas.ts';
import { checkRights } from '../../src/doctor/checks/rights.ts';
import { checkService } from '../../src/doctor/checks/service.ts';
import { checkVersions } from '../../src/doctor/checks/versions.ts';
import { type ClusterFacts, gatherCluster } from '../../src/doctor/facts/cluster-facts.ts';
import type { Facts } from '../../src/doctor/facts/facts.ts';
import { findInstallation } from '../../src/doctor/facts/find-installation.ts';
import type { Installation } from '../../src/doctor/facts/installation.ts';
import { gatherInstallation } from '../../src/doctor/facts/installation-facts.ts';
import { readingOf } from '../../src/doctor/facts/reading.ts';
import type { ReplicaFacts } from '../../src/doctor/facts/replica-facts.ts';
import type { PolicyKind } from '../../src/policy/policy.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE, SERVICE, taintkeeperAccount } from '../control-plane/replicas.ts';
import { admin, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { certificates, greeted, healthyFacts, pod, replica, run, webhook, wellFacts } from '../unit/doctor/facts.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';
import { LEASE } from './installation.ts';
import { pasteRemedy } from './paste-remedy.ts';
import { runOffline } from './run-taintkeeper.ts';

const MANIFEST = new URL('../../manifests/install.yaml', import.meta.url).pathname;
const SERVICE_PATH = `/api/v1/namespaces/${NAMESPACE}/services/${SERVICE}`;
/** A pod that the namespace's Pod Security Standard lets in. */
const POD = {
  labels: { 'app.kubernetes.io/name': 'taintkeeper', 'app.kubernetes.io/component': 'webhook' },
  spec: {
    serviceAccountName: 'taintkeeper',
    automountServiceAccountToken: false,
    securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'x',
        image: 'example.com/x',
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, runAsNonRoot: true },
      },
    ],
  },
};
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
/** Nobody listens there. */
const NOWHERE = 'https://127.0.0.1:1/';

const its = await certificates();
const others = await certificates();

// Not a shared API server: its counts are since its start, and other files make calls fail.
describeWithControlPlane("what doctor says of a cluster's configuration", { components: [] }, (cp) => {
  const clients: ApiClient[] = [];
  let renewals: NodeJS.Timeout | undefined;
  beforeAll(async () => {
    expect(await cp().kubectl(['apply', '-f', MANIFEST])).toMatchObject({ code: 0 });
    await lead();
  });
  afterAll(() => {
    clearInterval(renewals);
    for (const client of clients) client.close();
  });

  /** No replica runs here. A Lease that nobody renews would be watched for seconds at each look. */
  async function lead(): Promise<void> {
    const spec = { holderIdentity: 'the-test', leaseDurationSeconds: 15 };
    await cp().request(admin, 'POST', LEASE.slice(0, LEASE.lastIndexOf('/')), {
      body: { metadata: { name: 'taintkeeper' }, spec },
    });
    let transitions = 0;
    renewals = setInterval(() => {
      const body = { spec: { leaseTransitions: transitions++ } };
      cp()
        .request(admin, 'PATCH', LEASE, { body, contentType: MERGE_PATCH })
        .catch(() => {});
    }, 200);
  }

  async function look(user: User = admin): Promise<ClusterFacts & { readonly installation: Installation }> {
    const client = await connect({ kubeconfig: await cp().kubeconfigFile(user), userAgent: 'taintkeeper/test' });
    clients.push(client);
    const installation = (await findInstallation(client, { namespace: NAMESPACE })).chosen;
    if (!installation) throw new Error('it is not installed');
    return { installation, ...(await gatherCluster(client, installation)) };
  }

  const paste = (remedy: string | undefined) => pasteRemedy(cp(), remedy);

  /** What the checks of the Service go by. No replica runs here. */
  async function lookAtService() {
    const client = await connect({ kubeconfig: await cp().kubeconfigFile(admin), userAgent: 'taintkeeper/test' });
    clients.push(client);
    const search = await findInstallation(client, {});
    if (!search.chosen) throw new Error('it is not installed');
    const facts = await gatherInstallation(client, search.chosen);
    return { ...facts, search, installation: search.chosen, replicas: [], nodes: readingOf([]) };
  }

  const policyManifest = (kind: string, name: string, spec: object) => ({
    apiVersion: 'taintkeeper.dev/v1alpha1',
    kind,
    metadata: { name },
    spec,
  });

  async function createPolicy(kind: PolicyKind, name: string, spec: object): Promise<void> {
    const path = `/apis/taintkeeper.dev/v1alpha1/${POLICY_RESOURCES[kind]}`;
    const { status, body } = await cp().request(admin, 'POST', path, { body: policyManifest(kind, name, spec) });
    expect(status, JSON.stringify(body)).toBe(201);
  }

  async function patchObject(path: string, body: readonly object[]): Promise<void> {
    const contentType = 'application/json-patch+json';
    const answer = await cp().request(admin, 'PATCH', path, { body, contentType });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  }

  async function register(name: string, webhooks: readonly object[]): Promise<void> {
    const defaults = { clientConfig: { url: NOWHERE }, sideEffects: 'None', admissionReviewVersions: ['v1'] };
    const body = { metadata: { name }, webhooks: webhooks.map((webhook) => ({ ...defaults, ...webhook })) };
    const { status } = await cp().request(admin, 'POST', WEBHOOKS, { body });
    expect(status).toBe(201);
  }

  async function createNode(name: string, dryRun?: 'All'): Promise<number> {
    const path = `/api/v1/nodes${dryRun ? `?dryRun=${dryRun}` : ''}`;
    return (await cp().request(admin, 'POST', path, { body: { metadata: { name } } })).status;
  }

  it('the manifests grant all rights, as the service account itself can see as well', async () => {
    for (const user of [admin, taintkeeperAccount]) {
      expect(checkRights(await look(user))).toMatchObject({ state: 'ok' });
    }
    expect(checkVersions(await look())).toEqual([expect.objectContaining({ state: 'ok' })]);
  });

  it('doctor names the rights of a deleted binding and a deleted rule, and the remedy restores them', async () => {
    await cp().kubectl(['delete', 'clusterrolebinding', 'taintkeeper']);
    await cp().kubectl([
      'patch',
      'role',
      'taintkeeper',
      '-n',
      NAMESPACE,
      '--type=json',
      '-p',
      '[{"op":"remove","path":"/rules/0"}]',
    ]);
    const rights = checkRights(await look());
    expect(rights).toMatchObject({
      state: 'problem',
      evidence: expect.stringContaining('get, list, watch, patch nodes;'),
    });
    expect(rights.evidence).toContain('get, list, watch, patch secrets taintkeeper-certs in taintkeeper');
    expect(rights.evidence).not.toContain('leases');
    await paste(rights.remedy);
    expect(checkRights(await look())).toMatchObject({ state: 'ok' });
  });

  it.each([
    {
      fault: 'a port that was changed',
      patch: [{ op: 'replace', path: '/spec/ports/0/port', value: 8443 }],
      says: /the webhooks call port 443 of Service taintkeeper\/taintkeeper, which has 8443, 8080$/,
    },
    {
      fault: 'lost the port that the webhooks call',
      patch: [{ op: 'remove', path: '/spec/ports/0' }],
      says: /the webhooks call port 443 of .*, which has 8080$/,
    },
    {
      fault: 'a selector that is not that of the pods',
      patch: [{ op: 'replace', path: '/spec/selector', value: { app: 'guard' } }],
      says: /selects app=guard, and the pods of Deployment taintkeeper\/taintkeeper have app.kubernetes.io\/component=webhook,app.kubernetes.io\/name=taintkeeper$/,
    },
    {
      fault: 'a selector that asks for too much',
      patch: [{ op: 'add', path: '/spec/selector/tier', value: 'none' }],
      says: /^Service .* selects .*,tier=none, and the pods of /,
    },
  ])('the Service has $fault, and the remedy fixes it', async ({ patch, says }) => {
    await patchObject(SERVICE_PATH, patch);
    const found = checkService(await lookAtService());
    expect(found).toMatchObject({ state: 'problem', evidence: expect.stringMatching(says) });
    await paste(found.remedy);
    expect(checkService(await lookAtService())).toMatchObject({ state: 'ok' });
    // And what it was installed from can be applied as ever.
    expect(await cp().kubectl(['apply', '-f', MANIFEST])).toMatchObject({ code: 0 });
  });

  it('a Service without an address is made anew by the remedy', async () => {
    const { body } = await cp().request<{ spec: object }>(admin, 'GET', SERVICE_PATH);
    await cp().request(admin, 'DELETE', SERVICE_PATH);
    const { ports, selector } = body.spec as { ports: object[]; selector: object };
    const headless = { metadata: { name: SERVICE }, spec: { clusterIP: 'None', ports, selector } };
    const services = SERVICE_PATH.slice(0, SERVICE_PATH.lastIndexOf('/'));
    expect((await cp().request(admin, 'POST', services, { body: headless })).status).toBe(201);
    const found = checkService(await lookAtService());
    expect(found).toMatchObject({ state: 'problem', evidence: expect.stringContaining('has no cluster IP') });
    await paste(found.remedy);
    expect(checkService(await lookAtService())).toMatchObject({ state: 'ok' });
  });

  it('the remedy replaces a targetPort on which no replica listens, whichever port has it', async () => {
    const { body } = await cp().request<{ spec: { ports: object[] } }>(admin, 'GET', SERVICE_PATH);
    const [webhook, metrics] = body.spec.ports;
    const ports = [metrics, { ...webhook, targetPort: 1 }];
    await patchObject(SERVICE_PATH, [{ op: 'replace', path: '/spec/ports', value: ports }]);
    const astray = { ...healthyFacts().replicas[0], endpoint: { port: 1, isReady: true } } as ReplicaFacts;
    const found = checkEndpoints({ ...healthyFacts(), ...(await lookAtService()), replicas: [astray] });
    expect(found).toMatchObject({ state: 'problem', evidence: expect.stringContaining('leads to port 1 of a') });
    await paste(found.remedy);
    const { spec } = (await cp().request<typeof body>(admin, 'GET', SERVICE_PATH)).body;
    expect(spec.ports).toMatchObject([
      { name: 'metrics', targetPort: 'admin' },
      { name: 'webhook', targetPort: 'webhook' },
    ]);
    expect(await cp().kubectl(['apply', '-f', MANIFEST])).toMatchObject({ code: 0 });
  });

  it('a Deployment that is scaled to 0 is called that, and the remedy scales it', async () => {
    await cp().kubectl(['scale', '-n', NAMESPACE, 'deployment/taintkeeper', '--replicas=0']);
    const found = checkReplicas(await lookAtService());
    expect(found).toMatchObject({ state: 'problem', evidence: expect.stringContaining('is scaled to 0') });
    await paste(found.remedy);
    const repaired = checkReplicas(await lookAtService());
    // Nobody makes pods here.
    expect(repaired.evidence).toMatch(/though Deployment taintkeeper\/taintkeeper has 2 replicas$/);
    await paste(repaired.remedy);
  });

  it('pods that a node rejected are deleted by the remedy', async () => {
    const pods = `/api/v1/namespaces/${NAMESPACE}/pods`;
    for (const [name, status] of [
      ['rejected', { phase: 'Failed', reason: 'NodeShutdown' }],
      ['well', { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }],
    ] as const) {
      const body = { metadata: { name, labels: POD.labels }, spec: POD.spec };
      expect((await cp().request(admin, 'POST', pods, { body })).status).toBe(201);
      const path = `${pods}/${name}/status`;
      const answer = await cp().request(admin, 'PATCH', path, { body: { status }, contentType: MERGE_PATCH });
      expect(answer.status).toBe(200);
    }
    const found = checkReplicas(await lookAtService());
    expect(found).toMatchObject({ state: 'note', evidence: expect.stringContaining('rejected by their node') });
    await paste(found.remedy);
    expect(checkReplicas(await lookAtService())).toMatchObject({ state: 'ok' });
    await cp().request(admin, 'DELETE', `${pods}/well?gracePeriodSeconds=0`);
  });

  it('the remedies fix a DaemonSet that opts out, and grant the missing rights', async () => {
    const labels = { app: 'flannel' };
    const daemonSet = {
      metadata: { name: 'flannel', annotations: { 'taintkeeper.dev/ignore': 'true' } },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'x', image: 'example.com/x' }] } },
      },
    };
    const path = '/apis/apps/v1/namespaces/default/daemonsets';
    expect((await cp().request(admin, 'POST', path, { body: daemonSet })).status).toBe(201);
    const daemonSets = { namespaces: ['default'] };
    await createPolicy('TolerationPolicy', 'cni', { mode: 'Mutate', daemonSets });
    await createPolicy('RecoveryPolicy', 'reboots', { daemonSets });
    const facts = await look();
    const [ignored] = checkIgnoredDaemonSets(facts);
    expect(ignored).toMatchObject({ state: 'note' });
    await paste(ignored?.remedy);
    const rights = checkOptionalRights(facts);
    expect(rights.length).toBeGreaterThan(0);
    for (const { remedy } of rights) await paste(remedy);
    const repaired = await look();
    expect(checkIgnoredDaemonSets(repaired)).toMatchObject([{ state: 'ok' }]);
    expect(checkOptionalRights(repaired)).toEqual([]);
  });

  describe('the command of a remedy does what it says:', () => {
    const twoReplicas = [replica('well', greeted(its)), replica('stray', greeted(others))];
    const fault = { kind: 'refused', message: 'connection refused' } as const;
    const gone = replica('stray', greeted(its), { reached: readingOf({ outcome: 'failed', fault }) });
    const pods = `/api/v1/namespaces/${NAMESPACE}/pods`;
    const both = Object.values(CONFIGURATIONS).map(
      ({ resource }) => `${ADMISSION_REGISTRATION_V1_PATH}/${resource}/taintkeeper`,
    );

    it.each<{ check: CheckName; facts: Partial<Facts>; takesAway: readonly string[] }>([
      { check: 'Secret', facts: { secret: readingOf(undefined) }, takesAway: [] },
      { check: 'agreement of replicas', facts: { replicas: twoReplicas }, takesAway: [`${pods}/stray`] },
      { check: 'caBundle', facts: { webhooks: readingOf([webhook('x', others.ca.cert)]) }, takesAway: both },
      {
        check: 'endpoints',
        facts: { replicas: [replica('well', greeted(its), { endpoint: undefined })] },
        takesAway: [],
      },
      { check: 'round trip', facts: { replicas: [gone] }, takesAway: [`${pods}/stray`] },
      {
        check: 'Secret',
        facts: {
          secret: readingOf(undefined),
          pods: readingOf([pod('stuck', { isReady: false, cannotStart: 'image' }), pod('well')]),
        },
        takesAway: [`${pods}/well`],
      },
    ])('$check', async ({ check, facts, takesAway }) => {
      for (const path of takesAway) await create(path);
      const [found] = run([check], wellFacts(its, facts));
      expect(found?.remedy, JSON.stringify(found)).toBeDefined();
      await paste(found?.remedy);
      for (const path of takesAway) {
        const left = (await cp().request<{ metadata: { deletionTimestamp?: string } }>(admin, 'GET', path)).body;
        expect(left, path).toSatisfy(({ code, metadata }) => code === 404 || metadata.deletionTimestamp !== undefined);
      }
    });

    it('serving certificate, while no replica leads', async () => {
      const secret = `/api/v1/namespaces/${NAMESPACE}/secrets/taintkeeper-certs`;
      const expired = await certificates({ days: 91, by: its.ca });
      const files = {
        'ca.crt': its.ca.cert,
        'ca.key': its.ca.key,
        'tls.crt': expired.serving.cert,
        'tls.key': expired.serving.key,
      };
      await cp().request(admin, 'DELETE', secret);
      const body = { metadata: { name: 'taintkeeper-certs' }, type: 'kubernetes.io/tls', stringData: files };
      expect((await cp().request(admin, 'POST', `/api/v1/namespaces/${NAMESPACE}/secrets`, { body })).status).toBe(201);
      const [found] = run(['serving certificate'], wellFacts(its, { replicas: [replica('a', greeted(expired))] }));
      await paste(found?.remedy);
      const { data } = (await cp().request<{ data: Record<string, string> }>(admin, 'GET', secret)).body;
      const read = (name: string) => Buffer.from(data[name] ?? '', 'base64').toString();
      expect(read('ca.crt')).toBe(its.ca.cert);
      expect(new X509Certificate(read('tls.crt')).validToDate.getTime()).toBeGreaterThan(Date.now());
      await cp().request(admin, 'DELETE', secret);
    });

    /** Something of the kind and name. */
    async function create(path: string): Promise<void> {
      const [, parent, name] = /^(.*)\/([^/]+)$/.exec(path) ?? [];
      const { status } = await cp().request(admin, 'POST', parent ?? '', {
        body: { metadata: { name, labels: POD.labels }, ...(path.includes('/pods/') ? { spec: POD.spec } : {}) },
      });
      expect([201, 409], path).toContain(status);
    }
  });

  it('a native policy that refuses is proof that one is in force', async () => {
    const taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
    const node = { metadata: { name: 'gpu-1' }, spec: { taints: [taint] } };
    expect((await cp().request(admin, 'POST', '/api/v1/nodes', { body: node })).status).toBe(201);
    const spec = { mode: 'Deny', taints: [{ key: 'dedicated' }] };
    await createPolicy('TaintPolicy', 'gpu', spec);
    const file = join(temporaryDirectory(), 'gpu.json');
    writeFileSync(file, JSON.stringify(policyManifest('TaintPolicy', 'gpu', spec)));
    const version = cp().version.gitVersion;
    // API servers before 1.36 have no MutatingAdmissionPolicy by default.
    const exported = await runOffline(['export', '--policies', file, '--kubernetes', version, '--no-mutating']);
    expect(exported.code, exported.stderr).toBe(0);
    expect(await cp().kubectl(['apply', '-f', '-'], { input: exported.stdout })).toMatchObject({ code: 0 });
    let last: unknown;
    const admission = await waitUntil(
      async () => {
        const { admission: tried } = await look();
        last = tried;
        return tried.ok && tried.value.outcome === 'answered natively' ? tried : undefined;
      },
      { timeoutMs: 20_000, otherwise: () => `the trial resulted in ${JSON.stringify(last)}` },
    );
    expect(checkAdmission({ ...healthyFacts(), webhooks: readingOf([]), admission })).toMatchObject([
      {
        state: 'ok',
        evidence: expect.stringMatching(/^removing the taints of node gpu-1 .* is refused by the API server itself: /),
      },
    ]);
    await cp().kubectl(['delete', '-f', '-'], { input: exported.stdout });
  });

  it('the remedy creates the missing CustomResourceDefinitions of policies', async () => {
    const names = ['taintpolicies', 'tolerationpolicies', 'recoverypolicies'].map((name) => `${name}.taintkeeper.dev`);
    expect(await cp().kubectl(['delete', 'customresourcedefinition', ...names])).toMatchObject({ code: 0 });
    const policies = async () => checkPolicies(await look());
    const [gone] = await waitUntil(
      async () => {
        const found = await policies();
        return found[0]?.state === 'problem' ? found : undefined;
      },
      { timeoutMs: 10_000, otherwise: () => 'they are still there' },
    );
    expect(gone?.evidence).toMatch(/^CustomResourceDefinition \S+ does not exist: no \S+ is in force$/);
    await paste(gone?.remedy);
    await waitUntil(async () => ((await policies())[0]?.state === 'note' ? true : undefined), {
      timeoutMs: 10_000,
      otherwise: () => 'they are not back',
    });
  });

  it('a webhook of others that keeps nodes from registering is named, and the remedy takes it out of the way', async () => {
    const rules = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['nodes', 'pods'] }];
    await register('others', [
      { name: 'first.example.com', rules: [{ ...rules[0], resources: ['pods'] }] },
      { name: 'check.example.com', rules },
    ]);
    // The API server learns of webhooks a moment after they are written.
    await waitUntil(async () => ((await createNode('n0', 'All')) === 500 ? true : undefined), {
      timeoutMs: 10_000,
      otherwise: () => 'the webhook is not asked',
    });
    const [other, ...more] = checkOtherWebhooks(await look());
    expect(more).toEqual([]);
    expect(other).toMatchObject({
      state: 'problem',
      evidence: expect.stringContaining('others, webhook check.example.com'),
    });
    await paste(other?.remedy);
    await waitUntil(async () => ((await createNode('n0', 'All')) === 201 ? true : undefined), {
      timeoutMs: 10_000,
      otherwise: () => 'the webhook is still in the way',
    });
    expect(await createNode('n0')).toBe(201);
    expect(checkOtherWebhooks(await look())).toMatchObject([{ state: 'note' }]);
  });

  it("the API server's own counts tell of calls that failed", async () => {
    expect(checkFailedCalls(await look())).toMatchObject([{ state: 'ok' }]);
    const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'] };
    await register('taintkeeper', [
      { name: 'report.taintkeeper.dev', failurePolicy: 'Ignore', rules: [{ ...rule, operations: ['CREATE'] }] },
      { name: 'protect.taintkeeper.dev', failurePolicy: 'Fail', rules: [{ ...rule, operations: ['UPDATE'] }] },
    ]);
    // The API server learns of both at once, a moment after they are written.
    const label = ['label', 'node', 'gpu-1', 'a=b', '--dry-run=server'];
    await waitUntil(async () => ((await cp().kubectl(label)).code === 0 ? undefined : true), {
      timeoutMs: 10_000,
      otherwise: () => 'the webhooks are not asked',
    });
    expect(await createNode('n1')).toBe(201);
    const evidence = expect.stringMatching(
      /since 20.*: 1 request passed without an answer \(report 1\); \d+ requests? (was|were) refused because the webhook could not be called \(protect \d+\)$/,
    );
    const [failed] = checkFailedCalls(await look());
    expect(failed).toMatchObject({ state: 'note', evidence });
    await paste(failed?.remedy);
  });

  it('who may do nothing learns what it was that could not be read', async () => {
    const nobody = await look({ name: 'nobody', groups: [] });
    const { builtin: _, installation: __, version, nodePools, kindsWithoutDefinition, ...others } = nobody;
    expect([version, kindsWithoutDefinition]).toMatchObject([{ ok: true }, { ok: true }]);
    // Whether their APIs are served, everybody may ask: none is here.
    expect(nodePools).toMatchObject({ ok: true, value: { apis: [] } });
    for (const reading of Object.values(others)) expect(reading).toMatchObject({ ok: false, status: 403 });
  });
});
