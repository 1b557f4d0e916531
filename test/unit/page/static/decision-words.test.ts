import { expect, it } from 'vitest';
import type { Violation } from '../../../../src/judge/decision.ts';
import type { Outcome } from '../../../../src/judge/outcomes.ts';
import { outcomeWords, trialOf } from '../../../../src/page/static/words.js';

const violation = (outcome: Outcome, subject = 'a:NoSchedule'): Violation => ({
  ...{ policyKind: 'TaintPolicy', policy: 'pool', field: 'spec.taints[0]', mode: 'Restore' },
  outcome,
  subject,
});

it('tells what only --audit keeps from being done, the strongest first', () => {
  expect(trialOf({ violations: [violation('would-add'), violation('would-deny')] })).toBe('would-deny');
  expect(trialOf({ violations: [violation('would-restore')] })).toBe('would-restore');
  expect(trialOf({ violations: [violation('audited')] })).toBeUndefined();
});

it('reads as words', () => {
  expect(outcomeWords('allowed-by-annotation')).toBe('allowed by annotation');
});
