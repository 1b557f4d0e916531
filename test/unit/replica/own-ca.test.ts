import { X509Certificate } from 'node:crypto';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { fingerprints, hasCa } from '../../../src/certs/bundle.ts';
import { type Anchor, trackCaTrust } from '../../../src/certs/ca-trust.ts';
import { issueCa, issueServing } from '../../../src/certs/issue.ts';
import type { ServableCertificates } from '../../../src/certs/servable-certificates.ts';
import {
  caBundleFields,
  caBundlesOf,
  type WebhookConfiguration,
} from '../../../src/cluster/admission-registration/webhook-configurations.ts';
import type { RequestOptions } from '../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../src/cluster/client/api-error.ts';
import { addOwnCa } from '../../../src/replica/own-ca.ts';
import { captureLog } from '../captured-log.ts';

const NOW = new Date();
const SERVICE = { namespace: 'taintkeeper', name: 'taintkeeper', port: 443 };
const OTHER_SERVICE = { ...SERVICE, namespace: 'other' };
const [ca, leaders] = [await issueCa(NOW), await issueCa(NOW)];
const serving = await issueServing(ca, ['taintkeeper.taintkeeper.svc'], NOW);
const SERVED: ServableCertificates = {
  serving,
  certificate: new X509Certificate(serving.cert),
  ca: new X509Certificate(ca.cert),
  bundle: ca.cert,
  renews: 'nothing',
  uncovered: [],
};
const expired = await issueServing(ca, ['taintkeeper.taintkeeper.svc'], new Date('2001-01-01T00:00:00Z'));

/** The leader takes over within 17 s. */
const PATIENCE_MS = 20_000;

beforeEach(() => void vi.useFakeTimers({ now: NOW }));
afterEach(() => void vi.useRealTimers());

interface Options {
  /** The `caBundle` of each webhook, in both configurations. */
  readonly bundles?: readonly string[];
  readonly service?: typeof SERVICE;
  readonly served?: Partial<ServableCertificates>;
  readonly isLeader?: boolean;
  readonly isSynced?: boolean;
  /** With which status a write is refused. */
  readonly status?: number;
}

function start(options: Options = {}) {
  const {
    bundles = [leaders.cert, leaders.cert],
    service = SERVICE,
    served,
    isLeader = false,
    isSynced = true,
  } = options;
  const registered = new Map<string, WebhookConfiguration>(
    ['mutate', 'validate'].map((phase) => [
      phase,
      {
        metadata: { name: 'taintkeeper', resourceVersion: '7', annotations: { theirs: 'stays' } },
        webhooks: bundles.map((bundle, index) => ({
          name: `${index}`,
          clientConfig: { service, ...caBundleFields(bundle === '' ? undefined : bundle) },
          timeoutSeconds: 2,
        })),
      },
    ]),
  );
  const writes: WebhookConfiguration[] = [];
  const client = {
    now: () => new Date(),
    async request<T>(method: string, path: string, { body }: RequestOptions = {}): Promise<T> {
      const { status } = options;
      if (status !== undefined)
        throw new ApiError(method, path, status, status === 409 ? 'Conflict' : 'Forbidden', 'no');
      writes.push(body as WebhookConfiguration);
      registered.set(path.includes('mutating') ? 'mutate' : 'validate', body as WebhookConfiguration);
      return body as T;
    },
  };
  function trustedForMs(anchor: Anchor): number | undefined {
    const bundles = [...registered.values()].flatMap(caBundlesOf);
    return bundles.every((bundle) => anchor !== 'system' && hasCa(bundle, anchor)) ? 0 : undefined;
  }
  const { log, lines } = captureLog();
  const own = addOwnCa({
    client,
    service: SERVICE,
    webhooks: {
      isSynced: () => isSynced,
      get: (phase) => registered.get(phase),
      trust: { ...trackCaTrust(), trustedForMs },
    },
    certificates: { current: () => ({ ...SERVED, ...served }) },
    isLeader: () => isLeader,
    log,
  });
  return { writes, lines, registered, stop: own.stop, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}

it('adds its CA to every caBundle that lacks it, when a leader has had the time to do so, and changes nothing else', async () => {
  const both = `${leaders.cert}${ca.cert}`;
  const { writes, pass } = start({ bundles: [leaders.cert, both] });
  await pass(PATIENCE_MS);
  expect(writes).toEqual([]);
  await pass(2_000);
  expect(writes).toHaveLength(2);
  for (const { metadata, webhooks = [] } of writes) {
    expect(metadata).toEqual({
      name: 'taintkeeper',
      resourceVersion: '7',
      annotations: { theirs: 'stays', 'taintkeeper.dev/ca-added': expect.stringMatching(/^\d{4}-.*Z$/) },
    });
    expect(caBundlesOf({ webhooks }).map(fingerprints)).toEqual([fingerprints(both), fingerprints(both)]);
    expect(webhooks[0]).toMatchObject({ name: '0', clientConfig: { service: SERVICE }, timeoutSeconds: 2 });
  }
  await pass(10 * PATIENCE_MS);
  expect(writes).toHaveLength(2);
});

it('adds it again, each time later, if another writer removes it, and at once after it has stayed for long', async () => {
  const { writes, pass, registered } = start();
  const before = [...registered];
  const remove = () => {
    for (const [phase, configuration] of before) registered.set(phase, configuration);
  };
  await pass(PATIENCE_MS + 2_000);
  expect(writes).toHaveLength(2);
  remove();
  await pass(2 * PATIENCE_MS);
  expect(writes).toHaveLength(2);
  await pass(2_000);
  expect(writes).toHaveLength(4);
  remove();
  await pass(4 * PATIENCE_MS);
  expect(writes).toHaveLength(4);
  await pass(2_000);
  expect(writes).toHaveLength(6);

  await pass(600_000);
  remove();
  await pass(2_000);
  expect(writes).toHaveLength(8);
});

it.each<Options & { why: string }>([
  { why: 'it leads: then it registers the webhooks', isLeader: true },
  { why: 'the configurations have not been read', isSynced: false },
  { why: 'every caBundle has it', bundles: [`${leaders.cert}${ca.cert}`, ca.cert] },
  { why: 'no webhook is registered', bundles: [] },
  { why: 'a caBundle is empty: a CA there would end the trust in the CAs of the system', bundles: [leaders.cert, ''] },
  { why: 'the webhooks lead to another Service', service: OTHER_SERVICE },
  { why: 'it does not know its CA', served: { ca: undefined, bundle: undefined } },
  { why: 'its certificate is not for the Service', served: { uncovered: ['taintkeeper.taintkeeper.svc'] } },
  { why: 'its certificate has expired', served: { serving: expired } },
  {
    why: 'a caBundle has very many',
    bundles: [(await Promise.all(Array.from({ length: 16 }, async () => (await issueCa(NOW)).cert))).join('')],
  },
])('adds none if $why', async ({ why: _, ...options }) => {
  const { writes, lines, pass } = start(options);
  await pass(3 * PATIENCE_MS);
  expect({ writes, lines: lines() }).toEqual({ writes: [], lines: [] });
});

it('adds none after its stop', async () => {
  const { writes, pass, stop } = start();
  stop();
  await pass(3 * PATIENCE_MS);
  expect(writes).toEqual([]);
});

it('says once why it cannot, and nothing of a conflict, and goes on', async () => {
  const refused = start({ status: 403 });
  await refused.pass(5 * PATIENCE_MS);
  expect(refused.lines()).toMatchObject([
    { msg: expect.stringMatching(/^a caBundle lacks the CA of this replica, which could not be added: /) },
  ]);
  const conflicting = start({ status: 409 });
  await conflicting.pass(5 * PATIENCE_MS);
  expect(conflicting.lines()).toEqual([]);
});
