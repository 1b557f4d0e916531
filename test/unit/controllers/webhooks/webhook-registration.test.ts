import { describe, expect, it, onTestFinished } from 'vitest';
import { issueCa } from '../../../../src/certs/issue.ts';
import type { ServableCertificates } from '../../../../src/certs/servable-certificates.ts';
import {
  caBundlesOf,
  type Webhook,
  type WebhookConfiguration,
} from '../../../../src/cluster/admission-registration/webhook-configurations.ts';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import type { PolicySnapshot } from '../../../../src/cluster/policies/policies.ts';
import { type PolicyObject, versionInForce } from '../../../../src/cluster/policies/policy-object.ts';
import { createReports } from '../../../../src/controllers/reports.ts';
import {
  startWebhookRegistration,
  type WebhookRegistrationOptions,
} from '../../../../src/controllers/webhooks/webhook-registration.ts';
import { parsePolicies } from '../../../../src/files/policy-files.ts';
import { compilePolicies } from '../../../../src/policy/policy-set.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { captureLog } from '../../captured-log.ts';
import { absent } from '../../cluster/client/absent.ts';
import { taintPolicyYaml } from '../../reviews.ts';
import { runOf } from '../run.ts';

const EXPIRED = (await issueCa(new Date('2006-06-01T12:00:00Z'))).cert;

const policy = (generation: number, uid = 'uid-1') => ({ uid, inForce: { generation } }) as PolicyObject;
const version = (generation: number, uid = 'uid-1') => versionInForce(policy(generation, uid)) ?? '';

function snapshot(text: string, ...versions: string[]): PolicySnapshot {
  const policies = text === '' ? [] : parsePolicies([{ name: 'test', text }]);
  return { policies, compiled: compilePolicies(policies), versions: new Set(versions) };
}

const PHASES = ['mutate', 'validate'] as const;
type Phase = (typeof PHASES)[number];

/** The EndpointSlices of the Service: its only pod is ready. */
const endpointSlices = () => ({
  metadata: { resourceVersion: '1' },
  items: [{ endpoints: [{ addresses: ['127.0.0.1'], targetRef: { kind: 'Pod', name: 'a' } }] }],
});

/** An answer of the API server with an error status. */
const refusal = (method: string, path: string, status: number) =>
  new ApiError(method, path, status, status === 409 ? 'Conflict' : 'Forbidden', 'not now');

const WEBHOOK_TIMEOUT_SECONDS = 3;

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

/**
 * Two registered configurations, and a leader at work on them. `onWrite` is called before each write is answered: with a number that it returns, the
 * write is refused with this status.
 */
function startRegistration(
  onWrite: (phase: Phase, method: string) => number | undefined,
  { webhooks = [], metadata = {}, bundle = () => undefined, problem }: Options = {},
) {
  const stopping = new AbortController();
  /** What the API server has. */
  const registered = new Map<string, WebhookConfiguration>();
  let revision = 0;
  /** As somebody writes it. The watch shows it unless it is half open. */
  const store = (phase: Phase, configuration: WebhookConfiguration | undefined) => {
    revision++;
    if (!configuration) registered.delete(phase);
    else {
      const metadata = { ...configuration.metadata, resourceVersion: `${revision}` };
      registered.set(phase, { ...configuration, metadata });
    }
    if (!isHalfOpen) webhookChanges.next();
  };
  let isHalfOpen = false;
  const webhookChanges = createSubject();
  for (const phase of PHASES) store(phase, { metadata: { name: 'taintkeeper', ...metadata }, webhooks });
  const writes: string[] = [];
  /** What another admission plugin makes of a written configuration. */
  let change = (written: WebhookConfiguration) => written;
  const client = {
    now: () => new Date(),
    async request(method: string, path: string, { body }: RequestOptions = {}) {
      if (path.endsWith('/services/taintkeeper')) return { spec: { clusterIP: '127.0.0.1' } };
      if (path.endsWith('/endpointslices')) return endpointSlices();
      const phase = path.includes('mutating') ? 'mutate' : 'validate';
      const status = method === 'GET' ? undefined : onWrite(phase, method);
      if (status) throw refusal(method, path, status);
      const present = registered.get(phase);
      if (method === 'GET') {
        if (present) return present;
        throw absent(method, path);
      }
      const sent = body as WebhookConfiguration;
      if (method === 'PUT' && sent.metadata.resourceVersion !== present?.metadata.resourceVersion) {
        throw refusal(method, path, 409);
      }
      writes.push(`${method} ${phase}`);
      store(phase, change(sent));
      return registered.get(phase);
    },
  };
  const policies = {
    latest: snapshot(''),
    snapshot: () => policies.latest,
    present: [] as PolicyObject[],
    objects: () => policies.present,
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
    // Nothing listens there: the webhook is registered because the pod is an endpoint.
    service: { namespace: 'taintkeeper', name: 'taintkeeper', port: 1 },
    pod: 'a',
    ownerClusterRole: undefined,
    policies,
    webhooks: { changes: webhookChanges, ...read },
    certificates: {
      // A CA of the bundle signed the certificate.
      current: () => ({ bundle: bundle(), ca: {} }) as ServableCertificates,
      changes: certificateChanges,
    },
    secret: undefined,
    caOverlapMs: 0,
    webhookTimeoutSeconds: WEBHOOK_TIMEOUT_SECONDS,
    audit: false,
    reports,
  };
  return {
    read,
    policies,
    reports,
    registered,
    writes,
    store,
    set isHalfOpen(next: boolean) {
      isHalfOpen = next;
    },
    set change(next: (written: WebhookConfiguration) => WebhookConfiguration) {
      change = next;
    },
    bundles: () => new Set([...registered.values()].flatMap(caBundlesOf)),
    certificatesChanged: () => certificateChanges.next(),
    names: (phase: string) => registered.get(phase)?.webhooks?.map(({ name }) => name),
    follow(text: string, ...versions: string[]) {
      policies.latest = snapshot(text, ...versions);
      policies.changes.next();
    },
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
    return undefined;
  });
  rig.policies.latest = snapshot(taintPolicyYaml('Restore'), version(1));
  await rig.start();
  expect(rig.names('mutate')).toContain('restore.taintkeeper.dev');
  expect(rig.names('validate')).toContain('warn.taintkeeper.dev');
  const all = [...rig.registered.values()].flatMap(({ webhooks = [] }) => webhooks);
  expect(new Set(all.map(({ timeoutSeconds }) => timeoutSeconds))).toEqual(new Set([WEBHOOK_TIMEOUT_SECONDS]));
  expect([rig.reports.conditions(policy(1)), rig.reports.conditions(policy(2))]).toEqual([[], 'pending']);
});

it('registers once the configurations can be read, and until then the status says why not', async () => {
  const rig = startRegistration(() => undefined, { problem: 'forbidden' });
  rig.policies.latest = snapshot(taintPolicyYaml('Restore'), version(1));
  await rig.start();
  expect(rig.names('mutate')).toEqual([]);
  expect(rig.reports.conditions(policy(1))).toEqual([
    {
      type: 'Ready',
      status: 'False',
      reason: 'NotRegistered',
      message: 'the webhook is not registered for the policy: the webhook configurations cannot be read: forbidden',
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
    const rig = startRegistration(() => undefined, { webhooks: [earlier(base64(cert))] });
    rig.policies.latest = snapshot(taintPolicyYaml('Restore'), version(1));
    await rig.start();
    expect(rig.names('validate')).toContain('warn.taintkeeper.dev');
    expect(rig.bundles()).toEqual(new Set([cert]));
  });

  it.each([
    ['none is registered', ''],
    ['only an expired one is registered', EXPIRED],
    ['what is registered is none', 'garbage'],
  ])('the API server goes by the CAs of its system where %s', async (_, registered) => {
    const rig = startRegistration(() => undefined, { webhooks: [earlier(base64(registered))] });
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
  const rig = startRegistration(() => undefined, { metadata, bundle: () => bundle });
  rig.policies.latest = snapshot(taintPolicyYaml('Restore'), version(1));
  await rig.start();
  expect(rig.bundles()).toEqual(new Set([first]));
  bundle = second;
  rig.certificatesChanged();
  await expect.poll(rig.bundles).toEqual(new Set([second]));
  for (const one of rig.registered.values()) expect(one.metadata).toMatchObject(metadata);
});

describe('Ready of a policy says what the API server has stored', () => {
  const RESTORE = taintPolicyYaml('Restore');
  const DENY = `${RESTORE}---\n${taintPolicyYaml('Deny')}`;
  /** The policy of {@link RESTORE}. */
  const kept = policy(1, 'restore');
  /** The policy that {@link DENY} adds. */
  const added = policy(1, 'deny');
  const both = [version(1, 'restore'), version(1, 'deny')];
  const notRegistered = (message: string) => [
    { type: 'Ready', status: 'False', reason: 'NotRegistered', message: expect.stringContaining(message) },
  ];
  const narrow = (configuration: WebhookConfiguration | undefined): WebhookConfiguration => ({
    ...(configuration as WebhookConfiguration),
    webhooks: (configuration?.webhooks ?? []).map((one) => ({ ...one, objectSelector: { matchLabels: { a: 'b' } } })),
  });

  /** With {@link RESTORE} registered. */
  async function start(onWrite: Parameters<typeof startRegistration>[0] = () => undefined) {
    const rig = startRegistration(onWrite);
    rig.policies.latest = snapshot(RESTORE, version(1, 'restore'));
    await rig.start();
    expect(rig.reports.conditions(kept)).toEqual([]);
    return rig;
  }

  it('a policy that is created while the watch shows no changes is registered before it is Ready', async () => {
    const rig = startRegistration(() => undefined);
    rig.isHalfOpen = true;
    rig.policies.latest = snapshot(RESTORE, version(1, 'restore'));
    await rig.start();
    rig.follow(DENY, ...both);
    await expect.poll(() => rig.reports.conditions(added)).toEqual([]);
    expect(rig.names('validate')).toContain('protect.taintkeeper.dev');
  });

  it('a policy is not Ready while each write meets a change of another client', async () => {
    let isBusy = false;
    const rig = await start((phase) => {
      if (isBusy) rig.store(phase, rig.registered.get(phase));
      return undefined;
    });
    isBusy = true;
    rig.follow(DENY, ...both);
    await expect
      .poll(() => rig.reports.conditions(added))
      .toEqual(notRegistered('another writer changes ValidatingWebhookConfiguration taintkeeper'));
    expect(rig.reports.conditions(kept)).toEqual([]);
    isBusy = false;
    await expect.poll(() => rig.reports.conditions(added)).toEqual([]);
    expect(rig.names('validate')).toContain('protect.taintkeeper.dev');
  });

  /** How a policy whose webhooks another writer changes repeatedly is reported until that writer stops. */
  const conflict = (message: string) => [
    {
      kind: 'TaintPolicy',
      policy: 'restore',
      reason: 'WebhookConflict',
      message: `the webhook is repeatedly not registered as the policy requires: another writer ${message}. taintkeeper restores it within a minute. Until then, the API server may not call it, or may call it with other settings`,
    },
  ];

  it.each<{ why: string; phase?: Phase; change: typeof narrow; found?: unknown[]; problems?: unknown[] }>([
    {
      why: 'fewer requests match',
      change: narrow,
      found: notRegistered('another writer changes MutatingWebhookConfiguration taintkeeper: see its managedFields'),
      problems: conflict('changes MutatingWebhookConfiguration taintkeeper: see its managedFields'),
    },
    {
      why: 'they are called in fewer cases, by the webhooks that validate',
      phase: 'validate',
      change: narrow,
      found: notRegistered('another writer changes ValidatingWebhookConfiguration taintkeeper: see its managedFields'),
      problems: conflict('changes ValidatingWebhookConfiguration taintkeeper: see its managedFields'),
    },
    {
      why: 'the webhooks of another installation are in their place',
      change: (configuration) => ({
        ...configuration,
        metadata: { name: 'taintkeeper' },
        webhooks: [{ name: 'restore.taintkeeper.dev', clientConfig: { service: { namespace: 'b', name: 'c' } } }],
      }),
      found: notRegistered('taintkeeper: by the installation in namespace b, of which there may be only one'),
      problems: conflict(
        'changes MutatingWebhookConfiguration taintkeeper: by the installation in namespace b, of which there may be only one in a cluster',
      ),
    },
    {
      why: 'labels do not change what the API server calls',
      change: (configuration) => ({
        ...(configuration as WebhookConfiguration),
        metadata: { ...configuration?.metadata, name: 'taintkeeper', labels: {} },
      }),
    },
    {
      why: 'a webhook beside ours keeps no request from ours',
      change: (configuration) => ({
        ...(configuration as WebhookConfiguration),
        webhooks: [...(configuration?.webhooks ?? []), { name: 'other.example.com', clientConfig: {} }],
      }),
    },
    {
      why: 'without the webhook that only warns, policies are enforced',
      phase: 'validate',
      change: (configuration) => ({
        ...(configuration as WebhookConfiguration),
        webhooks: configuration?.webhooks?.filter(({ name }) => name !== 'warn.taintkeeper.dev') ?? [],
      }),
    },
  ])(
    'while another writer undoes each repair: $why',
    async ({ phase = 'mutate', change, found = [], problems = [] }) => {
      let isUndoing = false;
      const undo = () => rig.store(phase, change(rig.registered.get(phase)));
      const rig = await start(() => {
        if (isUndoing) setImmediate(undo);
        return undefined;
      });
      const reported: unknown[] = [];
      rig.reports.changes.subscribe(() => reported.push(rig.reports.conditions(kept)));
      // Those of a kind without webhooks, and those of which nothing is in force, have no part in it.
      rig.policies.present = [
        { ...kept, kind: 'TaintPolicy', name: 'restore' },
        { ...kept, kind: 'RecoveryPolicy', name: 'recover' },
      ];
      isUndoing = true;
      undo();
      const repairs = () => rig.writes.filter((one) => one === `PUT ${phase}`).length;
      await expect.poll(repairs).toBeGreaterThan(3);
      expect(reported.flat().slice(0, 1)).toEqual(found);
      expect(rig.reports.problems()).toEqual([]);
      await expect.poll(repairs).toBeGreaterThan(6);
      expect(rig.reports.problems()).toEqual(problems);
      isUndoing = false;
      await expect.poll(() => rig.reports.conditions(kept)).toEqual([]);
      // The repair that lasts looks like the ones before it.
      expect(rig.reports.problems()).toEqual(problems);
    },
  );

  it('while another writer deletes the configuration each time that the leader has created it, that is reported', async () => {
    let isPruning = false;
    const prune = () => rig.store('validate', undefined);
    const rig = await start(() => {
      if (isPruning) setImmediate(prune);
      return undefined;
    });
    rig.policies.present = [{ ...kept, kind: 'TaintPolicy', name: 'restore' }];
    isPruning = true;
    prune();
    await expect
      .poll(() => rig.reports.problems())
      .toEqual(conflict('deletes ValidatingWebhookConfiguration taintkeeper: see the audit log of the API server'));
    expect(rig.reports.conditions(kept)).toEqual(notRegistered('another writer deletes'));
  });

  it('one edit of another writer that is repaired at once is no conflict', async () => {
    const rig = await start();
    rig.policies.present = [{ ...kept, kind: 'TaintPolicy', name: 'restore' }];
    const before = rig.writes.length;
    rig.store('mutate', narrow(rig.registered.get('mutate')));
    await expect.poll(() => rig.writes.length).toBe(before + 1);
    await expect.poll(() => rig.reports.conditions(kept)).toEqual([]);
    expect(rig.reports.problems()).toEqual([]);
  });

  it('an admission plugin that changes what is written keeps the policy from being Ready', async () => {
    const rig = await start();
    rig.change = narrow;
    rig.follow(DENY, ...both);
    await expect
      .poll(() => rig.reports.conditions(added))
      .toEqual(notRegistered('another writer changes ValidatingWebhookConfiguration taintkeeper'));
  });

  it.each<{ phase: Phase }>([{ phase: 'mutate' }, { phase: 'validate' }])(
    'no policy is Ready while the configuration to $phase is deleted, and the API server refuses to create it',
    async ({ phase }) => {
      let isRefused = true;
      const rig = await start((_, method) => (method === 'POST' && isRefused ? 403 : undefined));
      rig.store(phase, undefined);
      await expect.poll(() => rig.reports.conditions(kept)).toEqual(notRegistered('POST'));
      isRefused = false;
      await expect.poll(() => rig.names(phase)?.length).toBeGreaterThan(0);
      await expect.poll(() => rig.reports.conditions(kept)).toEqual([expect.objectContaining({ status: 'True' })]);
    },
  );

  it('a policy whose webhooks stand stays Ready while the write for another one is refused', async () => {
    let refused: Phase | undefined;
    const rig = await start((phase) => (phase === refused ? 403 : undefined));
    refused = 'validate';
    rig.follow(DENY, ...both);
    await expect.poll(() => rig.reports.conditions(added)).toEqual(notRegistered('PUT'));
    expect(rig.reports.conditions(kept)).toEqual([]);
  });

  it('no policy of a kind without webhooks waits for them', async () => {
    const rig = startRegistration(() => 403);
    rig.policies.latest = snapshot(RESTORE, version(1, 'restore'));
    await rig.start();
    const conditionsOf = (kind: PolicyObject['kind']) => rig.reports.conditions({ ...kept, kind });
    expect(conditionsOf('TaintPolicy')).toEqual(notRegistered('PUT'));
    expect([conditionsOf('RecoveryPolicy'), conditionsOf('TolerationRestriction')]).toEqual([[], []]);
  });
});
