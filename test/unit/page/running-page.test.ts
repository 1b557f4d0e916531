import { writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PageState } from '../../../src/page/state.ts';
import { skipFor } from '../../skip-for.ts';
import { postReview, start } from '../replica/running-app.ts';
import { taintPolicyYaml, taintRemovalReview } from '../reviews.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { openStream } from './streams.ts';

/** One of this machine's, to be reached by as by another pod. */
const ADDRESS = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

const stateOf = async (adminUrl: string) => (await (await fetch(`${adminUrl}/api/state`)).json()) as PageState;

it('an open page shows a denial', async () => {
  const app = await start();
  const stream = await openStream(`${app.adminUrl}/api/events`);
  await stream.next();

  await postReview(app, taintRemovalReview());
  expect(await stream.nextDecision()).toMatchObject({ result: 'denied', name: 'cp-1', user: 'dev@example.com' });
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
    certificate: { notAfter: expect.stringMatching(/^20.*Z$/) },
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
    .poll(async () => (await stateOf(adminUrl)).checks[0])
    .toMatchObject({ name: 'policies', state: 'degraded' });
  expect((await stateOf(adminUrl)).policies).toMatchObject([{ name: 'keep-deny', mode: 'Deny' }]);
});

it('without a page, the listener has probes and metrics alone', async () => {
  const { adminUrl } = await start({ page: false });
  const status = async (path: string) => (await fetch(`${adminUrl}${path}`)).status;
  expect([await status('/'), await status('/api/state'), await status('/api/events')]).toEqual([404, 404, 404]);
  expect([await status('/livez'), await status('/metrics')]).toEqual([200, 200]);
});

describe('on every address', skipFor(ADDRESS ? undefined : 'this machine has no address but those of loopback'), () => {
  const PAGE = ['/', '/api/state', '/api/events'];

  it('the page is for those who come by loopback: another pod reads no users and no nodes', async () => {
    const { adminUrl, adminPort } = await start({ adminHost: '0.0.0.0' });
    const others = `http://${ADDRESS}:${adminPort}`;
    const statuses = (paths: readonly string[]) =>
      Promise.all(paths.map(async (path) => (await fetch(`${others}${path}`)).status));

    expect(await statuses(PAGE)).toEqual([403, 403, 403]);
    expect(await (await fetch(others)).text()).toContain('kubectl port-forward');
    expect(await statuses(['/livez', '/readyz', '/metrics'])).toEqual([200, 200, 200]);
    expect(await stateOf(adminUrl.replace('0.0.0.0', '127.0.0.1'))).toMatchObject({ mode: 'standalone' });
  });
});

it('a stop ends the streams, and does not wait for them', async () => {
  const app = await start();
  const stream = await openStream(`${app.adminUrl}/api/events`);
  await stream.next();
  // If the stop waited for the stream, neither would end.
  await Promise.all([app.stop(), stream.ended]);
});
