import { describe, expect, it, onTestFinished } from 'vitest';
import type { ServableCertificates } from '../../../../src/certs/certificate-directory.ts';
import { issueCa } from '../../../../src/certs/issue.ts';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import type { PolicySnapshot } from '../../../../src/cluster/policies.ts';
import { type PolicyObject, versionInForce } from '../../../../src/cluster/policy-object.ts';
import {
  caBundlesOf,
  type Webhook,
  type WebhookConfiguration,
} from '../../../../src/cluster/webhook-configurations.ts';
import { createReports } from '../../../../src/controllers/reports.ts';
import {
  startWebhookRegistration,
  type WebhookRegistrationOptions,
} from '../../../../src/controllers/webhooks/webhook-registration.ts';
import { parsePolicies } from '../../../../src/files/policy-files.ts';
import { compilePolicies } from '../../../../src/policy/policy-set.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { captureLog } from '../../captured-log.ts';
import { taintPolicyYaml } from '../../reviews.ts';
import { runOf } from '../run.ts';

const EXPIRED = (await issueCa(new Date('2006-06-01T12:00:00Z'))).cert;

const policy = (generation: number) => ({ uid: 'uid-1', inForce: { generation } }) as PolicyObject;
const version = (generation: number) => versionInForce(policy(generation)) ?? '';

function snapshot(text: string, ...versions: string[]): PolicySnapshot {
  const policies = text === '' ? [] : parsePolicies([{ name: 'test', text }]);
  return { policies, compiled: compilePolicies(policies), versions: new Set(versions) };
}

interface Options {
  /** What is registered at first, for both phases. */
  readonly webhooks?: readonly Webhook[];
  /** What others wrote into the metadata of both configurations. */
  readonly metadata?: object;
  /** The CAs beside the certificate. */
  readonly bundle?: () => string | undefined;
  /** Why the configurations cannot be read at first. */
  readonly problem?: string;
}

/** Two registered configurations, and a leader at work on them. `onWrite` is called before each write is answered. */
function startRegistration(
  onWrite: (phase: 'mutate' | 'validate') => void,
  { webhooks = [], metadata = {}, bundle = () => undefined, problem }: Options = {},
) {
  const stopping = new AbortController();
  const registered = new Map<string, WebhookConfiguration>(
    (['mutate', 'validate'] as const).map((phase) => [
      phase,
      { metadata: { name: 'taintkeeper', ...metadata }, webhooks },
    ]),
  );
  const registeredBundles = () => [...registered.values()].flatMap(caBundlesOf);
  const client = {
    now: () => new Date(),
    async request(method: string, path: string, { body }: RequestOptions = {}) {
      const phase = path.includes('mutating') ? 'mutate' : 'validate';
      if (method !== 'PUT') throw new Error(`${method} ${path} is not expected`);
      onWrite(phase);
      registered.set(phase, body as WebhookConfiguration);
      return body;
    },
  };
  const policies = {
    latest: snapshot(''),
    snapshot: () => policies.latest,
    objects: () => [] as PolicyObject[],
    changes: createSubject(),
  };
  const certificateChanges = createSubject();
  const reports = createReports();
  const run = runOf(stopping, captureLog().log);
  const synced = Promise.withResolvers<void>();
  let isSynced = problem === undefined;
  const read = {
    synced: synced.promise,
    isSynced: () => isSynced,
    tried: Promise.resolve(),
    problem: () => (isSynced ? undefined : problem),
    succeed() {
      isSynced = true;
      synced.resolve();
    },
  };
  const options: WebhookRegistrationOptions = {
    client: client as unknown as ApiClient,
    service: { namespace: 'taintkeeper', name: 'taintkeeper', port: 443 },
    pod: 'a',
    ownerClusterRole: undefined,
    policies,
    webhooks: {
      get: (phase) => registered.get(phase),
      caBundles: registeredBundles,
      changes: createSubject(),
      ...read,
    },
    certificates: {
      current: () => ({ bundle: bundle() }) as ServableCertificates,
      changes: certificateChanges,
    },
    secret: undefined,
    caOverlapMs: 0,
    audit: false,
    reports,
  };
  return {
    read,
    policies,
    reports,
    registered,
    bundles: () => new Set(registeredBundles()),
    certificatesChanged: () => certificateChanges.next(),
    names: (phase: string) => registered.get(phase)?.webhooks?.map(({ name }) => name),
    async start() {
      const controller = startWebhookRegistration(run, options);
      onTestFinished(async () => {
        stopping.abort();
        await controller.stop();
      });
      await reports.ready();
    },
  };
}

it('writes both configurations for the same policies, also when a policy changes in between', async () => {
  const rig = startRegistration(() => {
    rig.policies.latest = snapshot('', version(2));
  });
  rig.policies.latest = snapshot(taintPolicyYaml('Restore'), version(1));
  await rig.start();
  expect(rig.names('mutate')).toContain('restore.taintkeeper.dev');
  expect(rig.names('validate')).toContain('advise.taintkeeper.dev');
  expect([rig.reports.conditions(policy(1)), rig.reports.conditions(policy(2))]).toEqual([[], 'pending']);
});

it('registers once the configurations can be read, and until then the status says why not', async () => {
  const rig = startRegistration(() => {}, { problem: 'forbidden' });
  rig.policies.latest = snapshot(taintPolicyYaml('Restore'), version(1));
  await rig.start();
  expect(rig.names('mutate')).toEqual([]);
  expect(rig.reports.conditions(policy(1))).toEqual([
    {
      type: 'Ready',
      status: 'False',
      reason: 'NotRegistered',
      message: 'the API server does not call the webhook yet: the webhook configurations cannot be read: forbidden',
    },
  ]);
  rig.read.succeed();
  await expect.poll(() => rig.names('mutate')).toContain('restore.taintkeeper.dev');
  await expect.poll(() => rig.reports.conditions(policy(1))).toEqual([]);
});

describe('while the leader does not know the CA, because ca.crt is missing or has no certificate,', () => {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  /** As an earlier leader has registered it. */
  const earlier = (caBundle: string): Webhook => ({ name: 'restore.taintkeeper.dev', clientConfig: { caBundle } });

  it('every caBundle stays, also when webhooks are written: cainjector leaves them in this case, too', async () => {
    const { cert } = await issueCa(new Date());
    const rig = startRegistration(() => {}, { webhooks: [earlier(base64(cert))] });
    rig.policies.latest = snapshot(taintPolicyYaml('Restore'), version(1));
    await rig.start();
    expect(rig.names('validate')).toContain('advise.taintkeeper.dev');
    expect(rig.bundles()).toEqual(new Set([cert]));
  });

  it.each([
    ['none is registered', ''],
    ['only an expired one is registered', EXPIRED],
    ['what is registered is none', 'garbage'],
  ])('the API server goes by the CAs of its system where %s', async (_, registered) => {
    const rig = startRegistration(() => {}, { webhooks: [earlier(base64(registered))] });
    rig.policies.latest = snapshot(taintPolicyYaml('Restore'), version(1));
    await rig.start();
    expect(rig.names('mutate')).toContain('restore.taintkeeper.dev');
    expect(rig.bundles()).toEqual(new Set(['']));
  });
});

it('what others wrote into the metadata stays when the CA changes, and every webhook gets the new one', async () => {
  const [first, second] = [(await issueCa(new Date())).cert, (await issueCa(new Date())).cert];
  let bundle = first;
  const metadata = { labels: { team: 'infra' }, annotations: { 'example.com/note': 'ours' }, finalizers: ['a/b'] };
  const rig = startRegistration(() => {}, { metadata, bundle: () => bundle });
  rig.policies.latest = snapshot(taintPolicyYaml('Restore'), version(1));
  await rig.start();
  expect(rig.bundles()).toEqual(new Set([first]));
  bundle = second;
  rig.certificatesChanged();
  await expect.poll(rig.bundles).toEqual(new Set([second]));
  for (const one of rig.registered.values()) expect(one.metadata).toMatchObject(metadata);
});
