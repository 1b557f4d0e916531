import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { startTaintkeeper, type Taintkeeper } from '../control-plane/taintkeeper.ts';
import { admin, developer, type User } from '../control-plane/users.ts';
import { registerWebhook } from '../control-plane/webhook.ts';
import { attempt, GPU, path, taintsOf } from './nodes.ts';

const POLICIES = `
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: strict }
spec: { mode: Deny, taints: [{ key: dedicated }] }
`;

const webhookClient: User = { name: 'kube-apiserver-webhook-client', groups: [] };

describeWithControlPlane('serve --client-ca, and an API server that shows a certificate', { webhookClient }, (cp) => {
  let taintkeeper: Taintkeeper;

  beforeAll(async () => {
    const args = ['--client-ca', cp().caFile, '--client-name', webhookClient.name];
    taintkeeper = await startTaintkeeper({ policies: POLICIES, args });
    await registerWebhook(cp(), taintkeeper);
  });
  afterAll(() => taintkeeper?.stop());

  it('the API server is answered: a protected taint stays', async () => {
    const body = { metadata: { name: 'n1' }, spec: { taints: [GPU] } };
    expect((await cp().request(admin, 'POST', '/api/v1/nodes', { body })).status).toBe(201);
    const patch = { spec: { taints: null } };
    const { passed, error } = await attempt(
      cp(),
      developer,
      'PATCH',
      path('n1'),
      patch,
      'application/merge-patch+json',
    );

    expect(passed).toBe(false);
    expect(error).toContain('node n1 must keep taint dedicated=gpu:NoSchedule');
    expect(await taintsOf(cp(), 'n1')).toEqual(['dedicated=gpu:NoSchedule']);
  });

  it('others are not: neither without a certificate, nor with that of another user of the cluster', async () => {
    const [user] = (await cp().client(developer)).getUsers();
    const pem = (data: string | undefined) => Buffer.from(data ?? '', 'base64').toString();
    const pair = { cert: pem(user?.certData), key: pem(user?.keyData) };

    expect(await status({})).toBe(401);
    expect(await status(pair)).toBe(401);
  });

  async function status(pair: { cert?: string; key?: string }): Promise<number | undefined> {
    const ca = Buffer.from(taintkeeper.caBundle, 'base64').toString();
    const outgoing = request(`${taintkeeper.url}/validate`, { method: 'POST', agent: false, ca, ...pair });
    outgoing.end('{}');
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  }
});
