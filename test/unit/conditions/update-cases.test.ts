import { expect, it } from 'vitest';
import { compilePolicies } from '../../../src/policy/policy-set.ts';
import { webhookEntries } from '../../../src/webhooks/entries.ts';
import { UPDATE_CASES } from '../judge/request/update-cases.ts';
import { calledWebhooks } from './called-webhooks.ts';
import { countFits, expectedCalls } from './expected-calls.ts';
import { isRefusedByNodeRestriction, unseenRequest } from './requests.ts';
import { policiesOf, requestOf } from './update-cases.ts';

it.each(UPDATE_CASES)('the webhooks are called, and no more than needed: $why', ({ update, isSilent, ...one }) => {
  const policies = policiesOf(one);
  const { node, request: generated } = requestOf(update);
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
