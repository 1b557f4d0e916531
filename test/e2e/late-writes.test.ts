import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect } from '../../src/cluster/client/api-client.ts';
import { leaderClient } from '../../src/cluster/lease/leader-client.ts';
import { beginTerm, LeadershipLostError } from '../../src/cluster/lease/leadership.ts';
import { thisMoment } from '../../src/runtime/moment.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { createAuthority } from '../control-plane/credentials.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { succeeded } from '../control-plane/rest.ts';
import { startTcpProxy } from '../control-plane/tcp-proxy.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createDaemonSet, daemonSetManifest, daemonSetPath } from './daemon-sets.ts';

interface Labelled {
  readonly metadata: { readonly resourceVersion: string; readonly labels: object };
}

const NAME = 'late';
const PATH = daemonSetPath('default', NAME);
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
const TIMEOUT_MS = 20_000;
/** Longer than the API server takes to call a webhook on a busy machine, and much shorter than the webhook's time. */
const LEASE = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };
const WEBHOOK_SECONDS = 30;
/** From when the leader gives up. The webhook's time ends later. */
const ENDED_MS = 15_000;

describeWithControlPlane('a write of a leader whose node loses the network', {}, (cp) => {
  let server: Server;
  /** The calls that have no answer. Undefined: each is answered at once. */
  let held: ServerResponse[] | undefined;
  let calls = 0;

  beforeAll(async () => {
    const authority = await createAuthority();
    server = createServer(await authority.serving(), async (incoming, outgoing) => {
      const { request } = (await json(incoming)) as { request: { uid: string } };
      calls++;
      if (held) return void held.push(outgoing);
      outgoing.setHeader('content-type', 'application/json');
      const response = { uid: request.uid, allowed: true };
      outgoing.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    await createDaemonSet(cp(), daemonSetManifest('default', NAME));
    const webhook = {
      name: 'slow.example.com',
      clientConfig: {
        url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
        caBundle: Buffer.from(authority.cert).toString('base64'),
      },
      rules: [{ operations: ['UPDATE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['daemonsets'] }],
      failurePolicy: 'Ignore',
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      timeoutSeconds: WEBHOOK_SECONDS,
    };
    await succeeded(cp().request(admin, 'POST', WEBHOOKS, { body: { metadata: { name: NAME }, webhooks: [webhook] } }));
    const isCalled = async () => {
      await label({ called: `${Date.now()}` });
      return calls > 0 || undefined;
    };
    await waitUntil(isCalled, { timeoutMs: TIMEOUT_MS, otherwise: () => 'the API server does not call the webhook' });
  });
  afterAll(async () => {
    await cp().request(admin, 'DELETE', `${WEBHOOKS}/${NAME}`);
    server?.closeAllConnections();
    server?.close();
  });

  const label = (labels: object, resourceVersion?: string) =>
    cp().request<Labelled>(admin, 'PATCH', PATH, {
      body: { metadata: { labels, resourceVersion } },
      contentType: MERGE_PATCH,
    });

  it('is ended by the API server once the lease has ended, so that the next leader overlaps with no late write', async () => {
    const { metadata } = await succeeded(cp().request<Labelled>(admin, 'GET', PATH));
    const { resourceVersion } = metadata;
    await using proxy = await startTcpProxy(cp().url);
    const kubeconfig = await cp().kubeconfigFile(admin, proxy.url);
    const client = await connect({ kubeconfig, userAgent: 'late-writes' });
    // The write needs no new connection.
    await client.request('GET', PATH);
    const calling: ServerResponse[] = [];
    held = calling;

    const term = beginTerm(LEASE, thisMoment());
    const write = leaderClient(client, term).request('PATCH', PATH, {
      body: { metadata: { resourceVersion, labels: { late: 'yes' } } },
      contentType: MERGE_PATCH,
    });
    const outcome = write.catch((error) => error);
    await expect.poll(() => calling.length).toBe(1);
    // The API server does not learn that the leader gives up.
    proxy.pause();
    expect(await outcome).toBeInstanceOf(LeadershipLostError);

    await expect.poll(() => calling[0]?.closed, { timeout: ENDED_MS }).toBe(true);
    held = undefined;
    const { status, body } = await label({ next: 'yes' }, resourceVersion);
    expect([status, body.metadata.labels]).toEqual([200, expect.not.objectContaining({ late: 'yes' })]);
    client.close();
  });
});
