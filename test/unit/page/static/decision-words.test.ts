import { expect, it } from 'vitest';
import type { Violation } from '../../../../src/judge/decision.ts';
import type { Outcome } from '../../../../src/judge/outcomes.ts';
import { outcomeWords, saying, trialOf } from '../../../../src/page/static/words.js';

const violation = (outcome: Outcome, subject = 'a:NoSchedule'): Violation => ({
  ...{ policyKind: 'TaintPolicy', policy: 'pool', field: 'spec.taints[0]', mode: 'Restore' },
  outcome,
  subject,
});

it.each<{
  why: string;
  message?: string;
  warnings?: string[];
  violations: Violation[];
  texts: string[];
  outcomes: Outcome[];
}>([
  {
    why: 'a warning that only repeats the record',
    warnings: ['TaintPolicy pool restored taint a:NoSchedule'],
    violations: [violation('restored')],
    texts: [],
    outcomes: ['restored'],
  },
  {
    why: 'a refusal, which says more than the record',
    message: 'node n must keep taint a:NoSchedule, protected by TaintPolicy "pool". To remove it …',
    violations: [violation('denied')],
    texts: ['node n must keep taint a:NoSchedule, protected by TaintPolicy "pool". To remove it …'],
    outcomes: [],
  },
  {
    why: 'what a refusal has no room for',
    message: 'node n must keep taint a:NoSchedule, protected by TaintPolicy "pool". and 1 more',
    violations: [violation('denied'), violation('denied', 'b:NoSchedule')],
    texts: [expect.stringContaining('and 1 more')],
    outcomes: ['denied'],
  },
  {
    why: 'an announced allowRemoval, of which the warning tells what comes next',
    warnings: ['TaintPolicy pool allows the removal of taint a:NoSchedule, once'],
    violations: [violation('announced')],
    texts: ['TaintPolicy pool allows the removal of taint a:NoSchedule, once'],
    outcomes: [],
  },
  {
    why: 'a warning of something else',
    warnings: ['taintkeeper.dev/allow-removal: cannot read "x", expected key=value:Effect'],
    violations: [violation('audited')],
    texts: ['taintkeeper.dev/allow-removal: cannot read "x", expected key=value:Effect'],
    outcomes: ['audited'],
  },
  {
    why: 'a warning of a policy whose name begins like that of another',
    warnings: ['TaintPolicy pool-2 restored taint a:NoSchedule'],
    violations: [violation('restored')],
    texts: ['TaintPolicy pool-2 restored taint a:NoSchedule'],
    outcomes: ['restored'],
  },
  {
    why: 'a warning of a taint whose key ends like that of another',
    warnings: ['TaintPolicy pool restored taint example.com/a:NoSchedule'],
    violations: [violation('restored')],
    texts: ['TaintPolicy pool restored taint example.com/a:NoSchedule'],
    outcomes: ['restored'],
  },
])('says once: $why', ({ message, warnings = [], violations, texts, outcomes }) => {
  const said = saying({ ...(message === undefined ? {} : { message }), warnings, violations });
  expect(said.texts).toEqual(texts);
  expect(said.violations.map(({ outcome }) => outcome)).toEqual(outcomes);
});

it('tells what only --audit keeps from being done, the strongest first', () => {
  expect(trialOf({ violations: [violation('would-add'), violation('would-deny')] })).toBe('would-deny');
  expect(trialOf({ violations: [violation('addition-would-revert')] })).toBe('addition-would-revert');
  expect(trialOf({ violations: [violation('audited')] })).toBeUndefined();
});

it('reads as words', () => {
  expect(outcomeWords('allowed-by-annotation')).toBe('allowed by annotation');
});
