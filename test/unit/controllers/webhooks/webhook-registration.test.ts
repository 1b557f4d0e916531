import { expect, it, onTestFinished } from 'vitest';
import type { RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { type PolicyObject, type PolicySnapshot, versionInForce } from '../../../../src/cluster/policies.ts';
import type { WebhookConfiguration } from '../../../../src/cluster/webhook-configurations.ts';
import type { LeaderContext } from '../../../../src/controllers/context.ts';
import { createReports } from '../../../../src/controllers/reports.ts';
import { startWebhookRegistration } from '../../../../src/controllers/webhooks/webhook-registration.ts';
import { parsePolicies } from '../../../../src/files/policy-files.ts';
import { compilePolicies } from '../../../../src/policy/policy-set.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { captureLog } from '../../captured-log.ts';
import { taintPolicyYaml } from '../../reviews.ts';

const policy = (generation: number) => ({ uid: 'uid-1', inForce: { generation } }) as PolicyObject;
const version = (generation: number) => versionInForce(policy(generation)) ?? '';

function snapshot(text: string, ...versions: string[]): PolicySnapshot {
  const policies = text === '' ? [] : parsePolicies([{ name: 'test', text }]);
  return { policies, compiled: compilePolicies(policies), versions: new Set(versions) };
}

/** Two registered configurations, and a leader at work on them. `onWrite` is called before each write is answered. */
function startRegistration(onWrite: (phase: 'mutate' | 'validate') => void) {
  const stopping = new AbortController();
  const registered = new Map<string, WebhookConfiguration>(
    (['mutate', 'validate'] as const).map((phase) => [phase, { metadata: { name: 'taintkeeper' }, webhooks: [] }]),
  );
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
  const reports = createReports();
  const context = {
    client,
    policies,
    reports,
    webhooks: { get: (phase: string) => registered.get(phase), caBundles: () => [], changes: createSubject() },
    certificates: { current: () => ({ bundle: undefined }), changes: createSubject() },
    service: { namespace: 'taintkeeper', name: 'taintkeeper', port: 443 },
    metrics: { reconciled() {} },
    audit: false,
    caOverlapMs: 0,
    signal: stopping.signal,
    log: captureLog().log,
  } as unknown as LeaderContext;
  return {
    policies,
    reports,
    names: (phase: string) => registered.get(phase)?.webhooks?.map(({ name }) => name),
    async start() {
      const controller = startWebhookRegistration(context);
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
