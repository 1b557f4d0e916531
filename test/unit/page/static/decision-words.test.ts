import { expect, it } from 'vitest';
import { missing, type Outcome, onTrial, outcomeText, removal } from '../../../../src/judge/outcomes.ts';
import type { PageViolation } from '../../../../src/page/state.ts';
import { trialOf } from '../../../../src/page/static/words.js';

const violation = (outcome: Outcome): PageViolation => ({
  ...{ policyKind: 'TaintPolicy', policy: 'pool', field: 'spec.taints[0]', mode: 'Audit', subject: 'a:NoSchedule' },
  ...outcome,
  outcome: outcomeText(outcome),
});
const [add, deny, restore] = [missing('Added'), removal('Denied'), removal('Restored')].map(onTrial).map(violation);

it.each([
  { violations: [add, restore, deny], trial: 'would deny' },
  { violations: [add, restore], trial: 'would restore' },
  { violations: [violation(removal('Denied')), add], trial: 'would add' },
  { violations: [violation(removal('Audited'))], trial: undefined },
])('what only --audit keeps from being done, the strongest first: $trial', ({ violations, trial }) => {
  expect(trialOf({ violations: violations.flatMap((one) => one ?? []) })).toBe(trial);
});
