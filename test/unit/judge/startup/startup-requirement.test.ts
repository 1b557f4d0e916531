import { expect, it } from 'vitest';
import { startupTaintsOf } from '../../../../src/judge/startup/startup-requirement.ts';
import { policySet } from '../../policy/policies.ts';

it('the startup taints of a node are those of UntilReady that it carries, and all of AtRegistration', () => {
  const taint = (key: string) => ({ key, effect: 'NoSchedule' }) as const;
  const readyWhen = { allocatable: [{ resource: 'example.com/gpu' }] };
  const { taintPolicies } = policySet({
    taint: {
      p: {
        mode: 'Deny',
        taints: [
          { ...taint('required'), ensure: 'Always' },
          { ...taint('preparing'), ensure: 'AtRegistration' },
          { ...taint('network'), ensure: 'UntilReady', readyWhen },
        ],
      },
    },
  });
  expect(startupTaintsOf([], taintPolicies)).toEqual({ untilReady: [], atRegistration: [taint('preparing')] });
});
