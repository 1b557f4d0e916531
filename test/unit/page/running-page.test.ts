import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { PageState } from '../../../src/page/state.ts';
import { taintDropReview, taintPolicyYaml } from '../reviews.ts';
import { postReview, start } from '../running-app.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { openStream } from './streams.ts';

const stateOf = async (adminUrl: string) => (await (await fetch(`${adminUrl}/api/state`)).json()) as PageState;

it('a denial is on the page within a second', async () => {
  const app = await start();
  const stream = await openStream(`${app.adminUrl}/api/events`);
  await stream.next();

  const asked = performance.now();
  await postReview(app, taintDropReview());
  expect(await stream.nextDecision()).toMatchObject({ verdict: 'denied', name: 'cp-1', user: 'dev@example.com' });
  expect(performance.now() - asked).toBeLessThan(1_000);
});

it('shows the policies of files as they are in force, and the certificate that is served', async () => {
  const policies = join(temporaryDirectory(), 'policies.yaml');
  writeFileSync(policies, taintPolicyYaml('Deny'));
  const { adminUrl } = await start({ policyPaths: [policies], audit: true });
  const state = await stateOf(adminUrl);

  expect(state).toMatchObject({
    mode: 'standalone',
    audit: true,
    leader: { isThis: true },
    certificate: { names: expect.arrayContaining(['webhook.test', '127.0.0.1', '::1']), renews: 'serving' },
    webhooks: [],
    policies: [{ kind: 'TaintPolicy', name: 'keep-deny', mode: 'Audit', valid: true, problems: [] }],
  });
  expect(state.policies[0]?.spec).toBe('mode: Deny\ntaints:\n  - key: node-role.kubernetes.io/control-plane\n');
  expect(state.checks.map(({ name }) => name)).toEqual(['policies', 'certificate', 'shutdown']);
});

it('keeps the last good policies on the page while a file is broken', async () => {
  const policies = join(temporaryDirectory(), 'policies.yaml');
  writeFileSync(policies, taintPolicyYaml('Deny'));
  const { adminUrl } = await start({ policyPaths: [policies] });
  writeFileSync(policies, 'kind: TaintPolicy\n');

  await expect
    .poll(async () => (await stateOf(adminUrl)).checks[0], { timeout: 5_000 })
    .toMatchObject({ name: 'policies', state: 'degraded' });
  expect((await stateOf(adminUrl)).policies).toMatchObject([{ name: 'keep-deny', mode: 'Deny' }]);
});

it('without a page, the listener has probes and metrics alone', async () => {
  const { adminUrl } = await start({ page: false });
  const status = async (path: string) => (await fetch(`${adminUrl}${path}`)).status;
  expect([await status('/'), await status('/api/state'), await status('/api/events')]).toEqual([404, 404, 404]);
  expect([await status('/livez'), await status('/metrics')]).toEqual([200, 200]);
});

it('a stop ends the streams, and does not wait for them', async () => {
  const app = await start();
  const stream = await openStream(`${app.adminUrl}/api/events`);
  await stream.next();
  const asked = performance.now();
  await Promise.all([app.stop(), stream.ended]);
  expect(performance.now() - asked).toBeLessThan(2_000);
});
