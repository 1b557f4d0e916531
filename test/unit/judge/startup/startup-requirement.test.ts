import { expect, it } from 'vitest';
import type { NodeView } from '../../../../src/judge/node-view.ts';
import { carriedStartup, startupTaintsOf } from '../../../../src/judge/startup/startup-requirement.ts';
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
          { ...taint('storage'), ensure: 'UntilReady', readyWhen },
        ],
      },
    },
  });
  const node: NodeView = { name: 'n1', labels: {}, taints: [taint('network')], allowRemoval: undefined };
  const carried = carriedStartup(node, taintPolicies);
  expect(startupTaintsOf(carried, taintPolicies)).toEqual({
    untilReady: [taint('network')],
    atRegistration: [taint('preparing')],
  });
});
