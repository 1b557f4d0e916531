import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE, SERVICE } from '../control-plane/replicas.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { certificateData } from './certificate-data.ts';
import { configurationPath } from './installation.ts';
import {
  type Handshakes,
  NONE_FAILED,
  startTrustProber,
  type TrustOutcomes,
  type TrustProber,
} from './trust-prober.ts';

const text = (base64: string | undefined) => Buffer.from(base64 ?? '', 'base64').toString();

/** Registers webhooks with these bundles, by name; they are never called. */
async function register(cp: ControlPlane, bundles: Readonly<Record<string, string | undefined>>): Promise<void> {
  const webhooks = Object.entries(bundles).map(([name, caBundle]) => ({
    name,
    clientConfig: { service: { namespace: NAMESPACE, name: SERVICE }, ...(caBundle && { caBundle }) },
    rules: [{ apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['none'], operations: ['CREATE'] }],
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
  }));
  const path = configurationPath('validating');
  await cp.request(admin, 'DELETE', path);
  const body = { metadata: { name: 'taintkeeper' }, webhooks };
  const answer = await cp.request(admin, 'POST', path.slice(0, path.lastIndexOf('/')), { body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
}

function sum(one: TrustOutcomes, other: TrustOutcomes): TrustOutcomes {
  const add = (a: Handshakes, b: Handshakes): Handshakes => ({
    trusted: a.trusted + b.trusted,
    distrusted: [...a.distrusted, ...b.distrusted],
    unanswered: [...a.unanswered, ...b.unanswered],
  });
  return { now: add(one.now, other.now), momentAgo: add(one.momentAgo, other.momentAgo) };
}

describeWithControlPlane('the prober of trust', {}, (cp) => {
  let data: Record<string, string>;
  let server: ReturnType<typeof createServer>;
  let prober: TrustProber;

  beforeEach(async () => {
    data = await certificateData();
    server = createServer({ cert: text(data['tls.crt']), key: text(data['tls.key']) });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    prober = startTrustProber(cp(), (server.address() as AddressInfo).port);
  });
  afterEach(async () => {
    await prober.stop();
    server.close();
    await cp().request(admin, 'DELETE', configurationPath('validating'));
  });

  /** All that is seen from now on, until it is `enough`. */
  function see(enough: (seen: TrustOutcomes) => boolean): Promise<TrustOutcomes> {
    let all = prober.take();
    return waitUntil(
      () => {
        all = sum(all, prober.take());
        return enough(all) ? all : undefined;
      },
      { timeoutMs: 10_000, otherwise: () => `this is all that is seen: ${JSON.stringify(all)}` },
    );
  }

  it('is content with the CA that is registered', async () => {
    await register(cp(), { 'one.example.com': data['ca.crt'], 'two.example.com': data['ca.crt'] });
    expect(await see((seen) => seen.now.trusted > 0 && seen.momentAgo.trusted > 0)).toMatchObject(NONE_FAILED);
  });

  it.each([
    { what: 'another CA', bundle: async () => (await certificateData())['ca.crt'] },
    { what: 'no CA', bundle: async () => undefined },
  ])('names the one webhook that has $what', async ({ bundle }) => {
    await register(cp(), { 'right.example.com': data['ca.crt'], 'wrong.example.com': await bundle() });
    const { now } = await see((seen) => seen.now.trusted > 0 && seen.now.distrusted.length > 0);
    expect(now.distrusted[0]).toMatchObject({
      code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      webhooks: ['wrong.example.com'],
      issuer: expect.stringContaining('taintkeeper CA'),
    });
  });

  it('sees a certificate that only the bundle of now vouches for', async () => {
    await register(cp(), { 'one.example.com': data['ca.crt'] });
    await see((seen) => seen.momentAgo.trusted > 0);
    const next = await certificateData();
    await register(cp(), { 'one.example.com': next['ca.crt'] });
    server.setSecureContext({ cert: text(next['tls.crt']), key: text(next['tls.key']) });
    const { momentAgo } = await see((seen) => seen.now.trusted > 0 && seen.momentAgo.distrusted.length > 0);
    expect(momentAgo.distrusted[0]?.webhooks).toEqual(['one.example.com']);
    await waitUntil(
      () => {
        const { momentAgo } = prober.take();
        return momentAgo.trusted > 0 && momentAgo.distrusted.length === 0 ? true : undefined;
      },
      { timeoutMs: 10_000, otherwise: () => 'the bundle of a moment ago stays the earlier one' },
    );
  });

  it('counts a refused connection as unanswered, not as an untrusted certificate', async () => {
    server.close();
    await register(cp(), { 'one.example.com': data['ca.crt'] });
    const { now } = await see((seen) => seen.now.unanswered.length > 0);
    expect(now).toMatchObject({ trusted: 0, distrusted: [], unanswered: [{ code: 'ECONNREFUSED' }] });
  });
});
