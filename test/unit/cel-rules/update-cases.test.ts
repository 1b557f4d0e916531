import { expect, it } from 'vitest';
import { compilePolicies } from '../../../src/policy/policy-set.ts';
import { webhookEntries } from '../../../src/webhooks/webhook-entries.ts';
import { UPDATE_CASES } from '../judge/request/update-cases.ts';
import { calledWebhooks } from './called-webhooks.ts';
import { taintPolicies, updateRequest } from './case-requests.ts';
import { countFits, expectedCalls } from './expected-calls.ts';
import { isRefusedByNodeRestriction, unseenRequest } from './requests.ts';

it.each(UPDATE_CASES)('the webhooks are called, and no more than needed: $why', (one) => {
  const { update, isSilent } = one;
  const policies = taintPolicies(one.policies);
  const { node, request: generated } = updateRequest(update);
  const request = unseenRequest(generated, { nodes: [node], daemonSets: [] });
  if (isRefusedByNodeRestriction(request)) return;
  const called = calledWebhooks(webhookEntries(policies));
  const { admission, mutate, validate, protects } = expectedCalls(request, policies, compilePolicies(policies));
  const mutating = called(request, 'mutate');
  const validating = called({ ...request, object: admission.object }, 'validate');
  expect(countFits(mutating, mutate)).toBe(true);
  expect(countFits(validating, validate)).toBe(true);
  if (isSilent) expect([...mutating, ...validating]).toEqual([]);
  expect(validating.includes('protect.taintkeeper.dev')).toBe(protects);
});
