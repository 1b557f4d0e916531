import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compilePolicies } from '../../../src/policy/policy-set.ts';
import { webhookEntries } from '../../../src/webhooks/entries.ts';
import { assertUntilAllOccurred } from '../../rounds.ts';
import { calledWebhooks } from './called-webhooks.ts';
import { CALLS_AND_OUTCOMES, countFits, expectedCalls } from './expected-calls.ts';
import { admissionRequest, isRefusedByNodeRestriction } from './requests.ts';
import { scenario } from './scenarios.ts';

const REQUESTS_PER_SET = 60;
const POLICY_SETS = 12;
const SEED = 2_000;

it('match conditions and engine agree on what concerns a policy, on generated policies and requests', async () => {
  const occurred = new Map<string, number>();
  const property = fc.property(scenario(REQUESTS_PER_SET), ({ policies, audit, requests, ...ready }) => {
    const compiled = compilePolicies(policies, { audit });
    const called = calledWebhooks(webhookEntries(policies, { audit }));
    for (const generated of requests) {
      const request = admissionRequest(generated, ready);
      if (isRefusedByNodeRestriction(request)) continue;
      const { admission, mutate, validate, protects } = expectedCalls(request, policies, compiled);
      const mutating = called(request, 'mutate');
      const validating = called({ ...request, object: admission.object }, 'validate');
      const isProtecting = validating.includes('protect.taintkeeper.dev');
      const agree =
        countFits(mutating, mutate) &&
        countFits(validating, validate) &&
        (protects === undefined || protects === isProtecting);
      if (!agree) expect.fail(JSON.stringify({ request, policies, admission, mutating, validating }, null, 1));
      const found = [...mutating, ...validating, ...admission.violations.map(({ outcome }) => `outcome ${outcome}`)];
      for (const what of found.length > 0 ? found : ['no call']) occurred.set(what, (occurred.get(what) ?? 0) + 1);
    }
  });
  await assertUntilAllOccurred(property, {
    numRuns: POLICY_SETS,
    usualSeed: SEED,
    all: CALLS_AND_OUTCOMES,
    occurred,
  });
});
