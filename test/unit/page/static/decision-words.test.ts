import { expect, it } from 'vitest';
import { missingOutcome, type Outcome, onTrial, outcomeText, removalOutcome } from '../../../../src/judge/outcomes.ts';
import type { PageViolation } from '../../../../src/page/state.ts';
import { trialOf } from '../../../../src/page/static/decision-words.js';

const violation = (outcome: Outcome): PageViolation => ({
  ...{ policyKind: 'TaintPolicy', policy: 'pool', field: 'spec.taints[0]', mode: 'Audit', subject: 'a:NoSchedule' },
  ...outcome,
  outcome: outcomeText(outcome),
});
const [add, deny, restore] = [missingOutcome('Added'), removalOutcome('Denied'), removalOutcome('Restored')]
  .map(onTrial)
  .map(violation);

it.each([
  { violations: [add, restore, deny], trial: 'would deny' },
  { violations: [add, restore], trial: 'would restore' },
  { violations: [violation(removalOutcome('Denied')), add], trial: 'would add' },
  { violations: [violation(removalOutcome('Audited'))], trial: undefined },
])('what only --audit keeps from being done, the strongest first: $trial', ({ violations, trial }) => {
  expect(trialOf({ violations: violations.flatMap((one) => one ?? []) })).toBe(trial);
});
