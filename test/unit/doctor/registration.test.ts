import { expect, it } from 'vitest';
import type { CheckResult } from '../../../src/doctor/check.ts';
import { known } from '../../../src/doctor/reading.ts';
import { checkRegistration } from '../../../src/doctor/registration.ts';
import { certificates, wellFacts } from './installation.ts';

const its = await certificates();
const passed = known({ outcome: 'passed', what: 'x' } as const);
const trouble: CheckResult = { area: 'configuration', name: 'leader', state: 'trouble', evidence: 'nobody leads' };

it.each([
  { why: 'webhooks are there', facts: {}, state: 'ok', says: 'registered: restore, protect' },
  {
    why: 'they are needed',
    facts: { webhooks: known([]), admission: passed },
    state: 'trouble',
    says: /though policies need one$/,
  },
  {
    why: 'another check has the cause',
    facts: { webhooks: known([]), admission: passed },
    earlier: [trouble],
    state: 'skipped',
    says: /see leader$/,
  },
  {
    why: 'no policy needs one',
    facts: { webhooks: known([]), admission: known({ outcome: 'nothing to try' } as const) },
    state: 'ok',
    says: /^no webhook/,
  },
])('is $state when $why', ({ facts, earlier = [], state, says }) => {
  const [check] = checkRegistration(wellFacts(its, facts), earlier);
  expect(check?.state).toBe(state);
  expect(check?.evidence).toMatch(says);
});
