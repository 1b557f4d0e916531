import { expect, it } from 'vitest';
import { policySet } from '../../policy/policies.ts';
import { admitted } from './node-updates.ts';
import { UPDATE_CASES } from './update-cases.ts';

it.each(UPDATE_CASES)('$why', ({ policies, update, taints, allowRemoval, isSilent }) => {
  const found = admitted(policySet({ taint: policies }), update);
  expect(found.action === 'deny').toBe(taints === undefined);
  if (isSilent) expect(found).toMatchObject({ action: 'allow', outcomes: [], warnings: [] });
  if (taints === undefined) return;
  expect(found.taints.toSorted()).toEqual(taints.toSorted());
  expect(found.desired ? found.desired.allowRemoval : update.newAllowRemoval).toBe(allowRemoval);
});
