import { expect, it, vi } from 'vitest';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import { knowsMatchConditions, withoutConditions } from '../../../../src/controllers/webhooks/desired-webhooks.ts';
import { parsePolicies } from '../../../../src/files/policy-files.ts';
import { webhookEntries } from '../../../../src/webhooks/entries.ts';
import { TOLERATION_POLICY_YAML, taintPolicyYaml } from '../../reviews.ts';

/** An API server older than any that can be built here: it gives back what it knows of what it is sent. */
const apiServer = (known: (webhook: object) => object) => {
  const request = vi.fn(async (_method: string, _path: string, { body }: { body: { webhooks: object[] } }) => ({
    webhooks: body.webhooks.map(known),
  }));
  return { request, client: { request } as unknown as ApiClient };
};

it('asks by a dry run whether conditions are known', async () => {
  const newer = apiServer((webhook) => webhook);
  expect(await knowsMatchConditions(newer.client)).toBe(true);
  expect(newer.request.mock.calls[0]?.[2]).toMatchObject({ query: { dryRun: 'All' } });

  const older = apiServer((webhook) => ({ ...webhook, matchConditions: undefined }));
  expect(await knowsMatchConditions(older.client)).toBe(false);
});

it('without conditions, every kind of request comes once in each phase, and none fails closed', () => {
  const policies = parsePolicies([{ name: 'test', text: `${taintPolicyYaml('Deny')}---\n${TOLERATION_POLICY_YAML}` }]);
  const entries = webhookEntries(policies);
  expect(entries.some(({ failurePolicy }) => failurePolicy === 'Fail')).toBe(true);

  const open = withoutConditions(entries);
  expect(
    open.every(({ failurePolicy, matchConditions }) => failurePolicy === 'Ignore' && !matchConditions.length),
  ).toBe(true);
  const kinds = open.map(({ phase, resource, operations }) => `${phase} ${resource} ${operations}`);
  expect(new Set(kinds).size).toBe(kinds.length);
  expect(new Set(entries.map(({ phase, resource, operations }) => `${phase} ${resource} ${operations}`))).toEqual(
    new Set(kinds),
  );
});
