import { expect, it } from 'vitest';
import { outcomeText } from '../../../src/judge/outcomes.ts';
import { compilePolicies } from '../../../src/policy/policy-set.ts';
import { webhookEntries } from '../../../src/webhooks/webhook-entries.ts';
import { inCase } from '../../in-case.ts';
import { checkUntilAllOccurred } from '../../rounds.ts';
import { calledWebhooks } from './called-webhooks.ts';
import { CALLS_AND_OUTCOMES, countFits, expectedCalls, warned } from './expected-calls.ts';
import { isRefusedByNodeRestriction, unseenRequest } from './requests.ts';
import { scenario } from './scenarios.ts';

const REQUESTS_PER_SET = 60;
const POLICY_SETS = 12;
const SEED = 2_000;

it('match conditions and engine agree on what concerns a policy, on generated policies and requests', async () => {
  await checkUntilAllOccurred(
    scenario(REQUESTS_PER_SET),
    ({ policies, audit, requests, ...ready }) => {
      const compiled = compilePolicies(policies, { audit });
      const called = calledWebhooks(webhookEntries(policies, { audit }));
      return requests.flatMap((generated) => {
        const request = unseenRequest(generated, ready);
        if (isRefusedByNodeRestriction(request)) return [];
        const { admission, mutate, validate, protects } = expectedCalls(request, policies, compiled);
        const mutating = called(request, 'mutate');
        const validating = called({ ...request, object: admission.object }, 'validate');
        inCase(
          () => ({ request, policies, admission, mutating, validating }),
          () => {
            expect(countFits(mutating, mutate)).toBe(true);
            expect(countFits(validating, validate)).toBe(true);
            if (protects !== undefined) expect(validating.includes('protect.taintkeeper.dev')).toBe(protects);
          },
        );
        const outcomes = admission.violations.map((one) => `outcome ${outcomeText(one)}`);
        const found = [...mutating, ...validating, ...outcomes, ...warned(admission.warnings)];
        return found.length > 0 ? found : ['no call'];
      });
    },
    { numRuns: POLICY_SETS, usualSeed: SEED, all: CALLS_AND_OUTCOMES },
  );
});
