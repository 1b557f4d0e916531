import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PolicyObject } from '../../src/cluster/policies/policy-object.ts';
import { policiesPath } from '../../src/cluster/policies/policy-paths.ts';
import { conditionOf } from '../../src/policy/reporting/policy-status.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import {
  CERTIFICATES,
  caBundles,
  configurationPath,
  type Installation,
  install,
  readCertificates,
  readConfigurations,
  registerControlPlaneNode,
  waitUntilProtected,
} from './installation.ts';

/** How long to wait for what comes much sooner. */
const TIMEOUT_MS = 30_000;
/** Two more than it takes until it says that somebody else is at it. */
const REPAIRS = 7;
/** After the first repair, less what the clock of the log leaves out; it doubles each time (`limitRepairs`, back-off.ts). */
const SHORTEST_PAUSE_MS = 50 - 1;

describeWithControlPlane('an installation that was harmed', {}, (cp) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a', 'b']);
    await registerControlPlaneNode(cp(), 'cp-1');
    await waitUntilProtected(cp(), 'cp-1');
  });
  afterAll(() => installation.stop());

  it.each(['mutating', 'validating'] as const)(
    'recovers if its Secret and the %s configuration were deleted, and the other one trusts the old CA',
    async (kind) => {
      await installation.kill();
      await cp().request(admin, 'DELETE', CERTIFICATES);
      await cp().request(admin, 'DELETE', configurationPath(kind));
      await installation.start([`${kind}-1`, `${kind}-2`]);
      await installation.proxy.waitForReady(`${kind}-1`, `${kind}-2`);
      await waitUntilProtected(cp(), 'cp-1');
      const { data } = await readCertificates(cp());
      await waitUntil(
        async () => {
          const found = await readConfigurations(cp());
          const bundles = await caBundles(cp());
          const complete = found.every(({ webhooks }) => webhooks?.length > 0);
          return complete && bundles.every((bundle) => bundle === data['ca.crt']) ? true : undefined;
        },
        { timeoutMs: 15_000, otherwise: () => 'the webhook configurations are not restored' },
      );
    },
  );

  it('does not write without end when another writer sets another configuration', async () => {
    await installation.proxy.waitForReady(...installation.replicas.keys());
    const path = configurationPath('validating');
    const timeoutOf = async () =>
      (await cp().request<{ webhooks: { timeoutSeconds: number }[] }>(admin, 'GET', path)).body;
    const generation = async () => (await readConfigurations(cp()))[1]?.metadata.generation ?? 0;
    const lines = () => [...installation.replicas.values()].flatMap((replica) => replica.logs());
    const allRepairs = () => lines().filter(({ msg }) => msg.startsWith('ValidatingWebhookConfiguration restored'));
    const earlier = allRepairs().length;
    const repairedAt = () =>
      allRepairs()
        .slice(earlier)
        .map(({ time }) => Date.parse(String(time)));
    const before = await generation();
    let changes = 0;
    await waitUntil(
      async () => {
        if (repairedAt().length >= REPAIRS) return true;
        const { webhooks } = await timeoutOf();
        if (webhooks.every(({ timeoutSeconds }) => timeoutSeconds === 7)) return undefined;
        const body = { webhooks: webhooks.map((webhook) => ({ ...webhook, timeoutSeconds: 7 })) };
        if ((await cp().request(admin, 'PATCH', path, { body, contentType: MERGE_PATCH })).status === 200) changes++;
        return undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => `the leader restored it only at ${repairedAt()}` },
    );
    const repairs = (await generation()) - before - changes;
    const times = repairedAt();
    // All that was written is in the log.
    expect(repairs).toBeGreaterThanOrEqual(REPAIRS);
    expect(repairs).toBeLessThanOrEqual(times.length);
    const pauses = times.slice(1).map((time, n) => time - (times[n] ?? 0));
    for (const [n, ms] of pauses.entries()) expect(ms).toBeGreaterThanOrEqual(SHORTEST_PAUSE_MS * 2 ** n);
    expect(lines().filter(({ msg }) => msg.includes('changed repeatedly by another writer'))).toHaveLength(1);
    // Also just after a repair.
    await expect
      .poll(async () => {
        const { body } = await cp().request<{ items: Pick<PolicyObject, 'status'>[] }>(
          admin,
          'GET',
          policiesPath('TaintPolicy'),
        );
        return body.items.map(({ status }) => conditionOf(status, 'Stalled')?.reason);
      })
      .toContain('WebhookConflict');
  });
});
