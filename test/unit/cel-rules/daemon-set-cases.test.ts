import { expect, it } from 'vitest';
import { compilePolicies } from '../../../src/policy/policy-set.ts';
import { webhookEntries } from '../../../src/webhooks/webhook-entries.ts';
import { DAEMON_SET_CASES } from '../judge/request/daemon-set-cases.ts';
import { calledWebhooks } from './called-webhooks.ts';
import { daemonSetRequest, tolerationPolicies } from './case-requests.ts';
import { countFits, expectedCalls } from './expected-calls.ts';
import { tolerationsOf, withoutEmpty } from './objects.ts';
import { unseenRequest } from './requests.ts';

it.each(DAEMON_SET_CASES)('the webhooks are called, and no more than needed: $why', ({ added, reported, ...one }) => {
  const policies = tolerationPolicies(one.policies);
  const { daemonSets, request: generated } = daemonSetRequest(one);
  const request = unseenRequest(generated, { nodes: [], daemonSets });
  const called = calledWebhooks(webhookEntries(policies));
  const { admission, mutate, validate } = expectedCalls(request, policies, compilePolicies(policies));
  const mutating = called(request, 'mutate');
  const validating = called({ ...request, object: admission.object }, 'validate');
  expect(countFits(mutating, mutate)).toBe(true);
  expect(countFits(validating, validate)).toBe(true);
  expect(tolerationsOf(admission.object)).toEqual([...one.daemonSet.tolerations, ...added].map(withoutEmpty));
  if (added.length > 0) expect(mutating).toEqual(['tolerate.taintkeeper.dev']);
  if (added.length + reported.length === 0) expect(mutating).toEqual([]);
  expect(validating).toEqual(reported.length > 0 ? ['report-tolerations.taintkeeper.dev'] : []);
});
