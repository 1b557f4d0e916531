import { expect, it, onTestFinished, vi } from 'vitest';
import { watchPolicies } from '../../../../src/cluster/policies/policies.ts';
import { clusterPoliciesCheck } from '../../../../src/replica/readiness.ts';
import { captureLog } from '../../captured-log.ts';
import { answer, clientFor, startFakeApi } from '../client/fake-api.ts';

/** Policies that are followed, but for one kind: its watches end at once, in disorder. */
async function policiesWithout(resource: string | undefined) {
  const api = await startFakeApi(({ path, query }, response) => {
    if (!query.watch) return answer(response, { metadata: { resourceVersion: '1' }, items: [] });
    if (resource !== undefined && path.endsWith(`/${resource}`)) return answer(response, {}, 503);
    const timer = setInterval(() => {
      response.write(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '2' } } })}\n`);
    }, 10);
    response.once('close', () => clearInterval(timer));
  });
  const { client } = await clientFor(api.url);
  const policies = watchPolicies({
    client,
    audit: false,
    onState() {},
    log: captureLog().log,
  });
  onTestFinished(async () => void (await policies.stop()));
  await policies.synced;
  return policies;
}

/** Lets so much time pass, by the clock that nobody sets, for all but the network. */
function later(ms: number): void {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ms);
  onTestFinished(() => void vi.restoreAllMocks());
}

it('a replica that has long not heard of a kind of policies says so, and still answers by what it knows', async () => {
  const policies = await policiesWithout('tolerationpolicies');
  const heard = Date.now();
  expect(clusterPoliciesCheck(policies, false)).toMatchObject({ state: 'ok', detail: '0 in force' });

  later(60_000);
  const { state, detail } = clusterPoliciesCheck(policies, false);
  expect(state).toBe('degraded');
  const [, since = ''] = /^0 in force, as of (\S+): nothing was heard from the API server since$/.exec(detail) ?? [];
  expect(Math.abs(Date.parse(since) - heard)).toBeLessThan(5_000);
});

it('a replica that hears of all kinds does not, even if nothing changes', async () => {
  const policies = await policiesWithout(undefined);
  later(60_000);

  await expect.poll(() => clusterPoliciesCheck(policies, false)).toMatchObject({ state: 'ok' });
});
