import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { serverName } from '../../src/cluster/service-endpoint.ts';
import { createAuthority } from '../control-plane/credentials.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import type { User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import {
  type Installation,
  install,
  readCertificates,
  registerControlPlaneNode,
  removeTaints,
  waitUntilProtected,
} from './installation.ts';

const webhookClient: User = { name: 'kube-apiserver-webhook-client', groups: [] };

describeWithControlPlane('serve --client-ca, and an API server that shows a certificate', { webhookClient }, (cp) => {
  const workspace = createWorkspace('client-ca');
  let installation: Installation;
  let caFile: string;

  beforeAll(async () => {
    caFile = workspace.write('client-ca.crt', readFileSync(cp().caFile, 'utf8'));
    installation = await install(cp());
    await installation.start(['a'], { args: ['--client-ca', caFile] });
    await registerControlPlaneNode(cp(), 'cp-1');
  });
  afterAll(async () => {
    await installation?.stop();
    workspace.remove();
  });

  it('taintkeeper finds its own Service, and registers; the API server is answered: a protected taint stays', async () => {
    await waitUntilProtected(cp(), 'cp-1');
  });

  it('a client without a certificate is not', async () => {
    expect(await status({})).toBe(401);
  });

  it('when the CA of clients is another one, the API server is a stranger until it is the old one again', async () => {
    workspace.write('client-ca.crt', (await createAuthority()).cert);
    const refusal = 'the server has asked for the client to provide credentials';
    let last = '';
    await waitUntil(
      async () => {
        last = (await removeTaints(cp(), 'cp-1')).error;
        return last.includes(refusal) ? true : undefined;
      },
      { timeoutMs: 10_000, otherwise: () => last },
    );
    expect(last).toContain('failed calling webhook "protect.taintkeeper.dev"');

    workspace.write('client-ca.crt', readFileSync(cp().caFile, 'utf8'));
    await waitUntilProtected(cp(), 'cp-1');
  });

  /** What whoever shows this certificate is answered. */
  async function status(pair: { cert?: string; key?: string }): Promise<number | undefined> {
    const { data } = await readCertificates(cp());
    const outgoing = request(`${installation.replica('a').url}/validate`, {
      method: 'POST',
      agent: false,
      ca: Buffer.from(data['ca.crt'], 'base64').toString(),
      servername: serverName({ namespace: 'taintkeeper', name: 'taintkeeper' }),
      ...pair,
    });
    outgoing.end('{}');
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  }
});
