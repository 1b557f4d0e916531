import { describe, expect, it } from 'vitest';
import { checkNodeMetadata } from '../../../src/doctor/checks/node-metadata.ts';
import { readingOf } from '../../../src/doctor/facts/reading.ts';
import { healthyFacts, storedProtection } from './facts.ts';

const { policy, binding } = storedProtection();
const { matchConstraints } = policy.spec as { readonly matchConstraints: object };
const exempting = {
  ...policy.spec,
  matchConstraints: { ...matchConstraints, excludeResourceRules: [{ resources: ['nodes/status'] }] },
};

describe('the protection of nodes from writers of nodes/status', () => {
  it('is well where policy and binding are as they are shipped', () => {
    expect(checkNodeMetadata(healthyFacts({ metadataProtection: readingOf({ policy, binding }) }))).toMatchObject([
      { state: 'ok' },
    ]);
  });

  it.each([
    {
      what: 'the policy is missing',
      found: { policy: undefined, binding },
      says: 'ValidatingAdmissionPolicy taintkeeper-node-metadata not found',
    },
    {
      what: 'the binding is missing',
      found: { policy, binding: undefined },
      says: 'ValidatingAdmissionPolicyBinding taintkeeper-node-metadata not found',
    },
    {
      what: 'the policy leaves requests out',
      found: { policy: { spec: exempting }, binding },
      says: 'ValidatingAdmissionPolicy taintkeeper-node-metadata was changed',
    },
    {
      what: 'the binding only warns',
      found: { policy, binding: { spec: { ...binding.spec, validationActions: ['Warn'] } } },
      says: 'Binding taintkeeper-node-metadata was changed',
    },
    {
      what: 'the binding is narrowed',
      found: { policy, binding: { spec: { ...binding.spec, matchResources: { objectSelector: {} } } } },
      says: 'Binding taintkeeper-node-metadata was changed',
    },
  ])('is problem where $what', ({ found, says }) => {
    expect(checkNodeMetadata(healthyFacts({ metadataProtection: readingOf(found) }))).toMatchObject([
      { state: 'problem', evidence: expect.stringContaining(says) },
    ]);
  });
});
