import { describe, expect, it } from 'vitest';
import { checkRecords } from '../../../src/doctor/checks/records.ts';
import { known } from '../../../src/doctor/reading.ts';
import { healthyFacts, storedProtection } from './facts.ts';

const [policy, binding] = storedProtection();
const { matchConstraints } = policy.spec as { readonly matchConstraints: object };
const exempting = {
  ...policy.spec,
  matchConstraints: { ...matchConstraints, excludeResourceRules: [{ resources: ['nodes/status'] }] },
};

describe('the protection of records on nodes', () => {
  it('is well where policy and binding are as they are shipped', () => {
    expect(checkRecords(healthyFacts({ recordProtection: known([policy, binding]) }))).toMatchObject({ state: 'ok' });
  });

  it.each([
    {
      what: 'the policy is missing',
      found: [undefined, binding],
      says: 'ValidatingAdmissionPolicy taintkeeper-node-annotations not found',
    },
    {
      what: 'the binding is missing',
      found: [policy, undefined],
      says: 'ValidatingAdmissionPolicyBinding taintkeeper-node-annotations not found',
    },
    {
      what: 'the policy leaves requests out',
      found: [{ spec: exempting }, binding],
      says: 'ValidatingAdmissionPolicy taintkeeper-node-annotations was changed',
    },
    {
      what: 'the binding only warns',
      found: [policy, { spec: { ...binding.spec, validationActions: ['Warn'] } }],
      says: 'Binding taintkeeper-node-annotations was changed',
    },
    {
      what: 'the binding is narrowed',
      found: [policy, { spec: { ...binding.spec, matchResources: { objectSelector: {} } } }],
      says: 'Binding taintkeeper-node-annotations was changed',
    },
  ])('is problem where $what', ({ found, says }) => {
    expect(checkRecords(healthyFacts({ recordProtection: known(found) }))).toMatchObject({
      state: 'problem',
      evidence: expect.stringContaining(says),
    });
  });
});
