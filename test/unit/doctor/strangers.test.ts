import { describe, expect, it } from 'vitest';
import { issueServing } from '../../../src/certs/issue.ts';
import type { ApiClient } from '../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../src/cluster/client/api-error.ts';
import { CERTIFICATE_CHECKS } from '../../../src/doctor/check.ts';
import type { Facts } from '../../../src/doctor/facts/facts.ts';
import { readingOf } from '../../../src/doctor/facts/reading.ts';
import { recogniserFor } from '../../../src/doctor/facts/recognition.ts';
import { probeReplica, type ReplicaFacts } from '../../../src/doctor/facts/replica-facts.ts';
import { issueAuthority } from '../certs/authorities.ts';
import { startEchoingWebhook } from '../webhooks/echoing-webhook.ts';
import { certificates, greeted, healthyFacts, pod, run, unseen, webhook, wellFacts } from './facts.ts';

const its = await certificates();
const SERVER_NAME = 'taintkeeper.taintkeeper.svc';

/** Of a proxy that takes TLS connections apart. */
const proxyCa = await issueAuthority('Example Proxy CA', new Date('2026-05-31'));
const proxy = { ca: proxyCa, serving: await issueServing(proxyCa, ['proxy.example.com'], new Date('2026-05-31')) };

/** Neither the API server nor a port-forward leads to the pod. */
const client = {
  request: async (method: string, path: string) => {
    throw new ApiError(method, path, 403, 'Forbidden', 'forbidden');
  },
} as unknown as ApiClient;
const sockets = {
  connect: async () => {
    throw new Error('403');
  },
} as never;

async function calledOn(port: number, facts: Pick<Facts, 'secret' | 'webhooks'>): Promise<ReplicaFacts> {
  const endpoint = { port, isReady: true };
  const replica = { name: 'a', podName: 'a', addresses: ['127.0.0.1'], port, endpoint, pod: pod('a') };
  const recognise = recogniserFor(facts);
  return probeReplica(replica, { client, sockets, namespace: 'taintkeeper', serverName: SERVER_NAME, recognise });
}

describe('what answers at the address of a pod and shows a certificate that is not of taintkeeper', () => {
  it.each([
    { what: 'a proxy that passes the review on', status: 200 },
    { what: 'a proxy that asks for credentials', status: 401 },
    { what: 'something that is no webhook', status: 404 },
  ])('is named, and the certificates of taintkeeper are left alone: $what', async ({ status }) => {
    const well = wellFacts(its);
    const port = await startEchoingWebhook(proxy.serving, { status });
    const facts = { ...well, replicas: [await calledOn(port, well)] };

    const said = `something else answers at 127.0.0.1:${port}: its certificate was issued by Example Proxy CA`;
    const checks = run([...CERTIFICATE_CHECKS, 'round trip'], facts);
    expect(checks.filter(({ state }) => state === 'problem')).toEqual([]);
    expect(checks.find(({ name }) => name === 'serving certificate')).toMatchObject({
      state: 'skipped',
      evidence: expect.stringContaining(said),
    });
    expect(checks.find(({ name }) => name === 'round trip')?.evidence).toContain(said);
    expect(JSON.stringify(checks)).not.toMatch(/kubectl delete/);
  });

  it('is told from a certificate that taintkeeper serves: of the Secret, of a caBundle, or of an earlier CA', async () => {
    const other = await certificates();
    const foreign = { secret: readingOf({ cert: proxy.serving.cert, key: '' }), webhooks: readingOf([]) };
    const bundled = { secret: unseen('forbidden'), webhooks: readingOf([webhook('w', proxyCa.cert)]) };
    const none = { secret: unseen('forbidden'), webhooks: unseen('forbidden') };
    for (const [pair, facts] of [
      [proxy, foreign],
      [proxy, bundled],
      [other, healthyFacts()],
      [its, none],
    ] as const) {
      expect(recogniserFor(facts as never)(greeted(pair), 'a:1').outcome).toBe('greeted');
    }
    expect(recogniserFor(none as never)(greeted(proxy), 'a:1')).toMatchObject({
      outcome: 'failed',
      fault: { kind: 'foreign' },
    });
  });
});
