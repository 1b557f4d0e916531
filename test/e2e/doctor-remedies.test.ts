import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ApiClient, connect } from '../../src/cluster/client/api-client.ts';
import { checkFailedCalls, checkVersions } from '../../src/doctor/checks/api-server.ts';
import { checkRights } from '../../src/doctor/checks/leader.ts';
import { checkOtherWebhooks } from '../../src/doctor/checks/other-webhooks.ts';
import { type ClusterFacts, gatherCluster } from '../../src/doctor/cluster-facts.ts';
import { findInstallation, type Installation } from '../../src/doctor/installation.ts';
import { findAssets } from '../control-plane/assets.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE, taintkeeperAccount } from '../control-plane/replicas.ts';
import { runTool } from '../control-plane/run-tool.ts';
import { admin, type User } from '../control-plane/users.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';
import { LEASE } from './installation.ts';

const MANIFEST = new URL('../../manifests/install.yaml', import.meta.url).pathname;
const ROOT = new URL('../..', import.meta.url).pathname;
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
/** Nobody listens there. */
const NOWHERE = 'https://127.0.0.1:1/';

describeWithControlPlane("what doctor says of a cluster's configuration", {}, (cp) => {
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

  /** What somebody does who pastes the remedy into a shell. */
  async function paste(command = ''): Promise<void> {
    const PATH = `${findAssets('newest')?.folder}:${process.env.PATH}`;
    // A home of its own, for kubectl's cache.
    const env = { PATH, HOME: temporaryDirectory(), KUBECONFIG: await cp().kubeconfigFile(admin) };
    const result = await runTool('sh', ['-c', `cd ${ROOT} && ${command}`], { env });
    expect(result.code, result.stderr).toBe(0);
  }

  async function register(name: string, webhooks: readonly object[]): Promise<void> {
    const defaults = { clientConfig: { url: NOWHERE }, sideEffects: 'None', admissionReviewVersions: ['v1'] };
    const body = { metadata: { name }, webhooks: webhooks.map((webhook) => ({ ...defaults, ...webhook })) };
    const { status } = await cp().request(admin, 'POST', WEBHOOKS, { body });
    expect(status).toBe(201);
  }

  async function createNode(name: string): Promise<number> {
    return (await cp().request(admin, 'POST', '/api/v1/nodes', { body: { metadata: { name } } })).status;
  }

  it('the manifests grant all rights, as the service account itself can see as well', async () => {
    for (const user of [admin, taintkeeperAccount]) {
      expect(checkRights(await look(user))).toMatchObject({ state: 'ok' });
    }
    expect(checkVersions(await look())).toEqual([expect.objectContaining({ state: 'ok' })]);
  });

  it('a binding that is gone is named by all that is missing with it, and the remedy mends it', async () => {
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
      state: 'trouble',
      evidence: expect.stringContaining('get, list, watch, patch nodes;'),
    });
    expect(rights.evidence).toContain('get, list, watch, patch secrets taintkeeper-certs in taintkeeper');
    expect(rights.evidence).not.toContain('leases');
    await paste(rights.remedy);
    expect(checkRights(await look())).toMatchObject({ state: 'ok' });
  });

  it('a webhook of others that keeps nodes from registering is named, and the remedy takes it out of the way', async () => {
    const rules = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['nodes', 'pods'] }];
    await register('others', [
      { name: 'first.example.com', rules: [{ ...rules[0], resources: ['pods'] }] },
      { name: 'check.example.com', rules },
    ]);
    expect(await createNode('n0')).toBe(500);
    const [other, ...more] = checkOtherWebhooks(await look());
    expect(more).toEqual([]);
    expect(other).toMatchObject({
      state: 'trouble',
      evidence: expect.stringContaining('others, webhook check.example.com'),
    });
    await paste(other?.remedy);
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
    expect(await createNode('n1')).toBe(201);
    expect((await cp().kubectl(['label', 'node', 'n1', 'a=b'])).code).not.toBe(0);
    const evidence = expect.stringMatching(
      /since 20.*: 1 passed unjudged \(report 1\); \d+ refused because the webhook could not be asked \(protect \d+\)$/,
    );
    expect(checkFailedCalls(await look())).toEqual([expect.objectContaining({ state: 'note', evidence })]);
  });

  it('who may do nothing learns what it was that could not be read', async () => {
    const { builtin: _, installation: __, version, ...others } = await look({ name: 'nobody', groups: [] });
    expect(version).toMatchObject({ ok: true });
    for (const reading of Object.values(others)) expect(reading).toMatchObject({ ok: false, status: 403 });
  });
});
