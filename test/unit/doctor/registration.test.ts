import { expect, it } from 'vitest';
import { readingOf } from '../../../src/doctor/facts/reading.ts';
import { certificates, run, unseen, wellFacts } from './facts.ts';

const its = await certificates();
const passed = readingOf({ outcome: 'passed', what: 'x' } as const);
const leaderless = readingOf({ holder: '', renewed: false, renewTime: undefined, watchedSeconds: 6 });

it.each([
  { why: 'webhooks are there', facts: {}, state: 'ok', says: 'registered: restore, protect' },
  {
    why: 'they are needed',
    facts: { webhooks: readingOf([]), admission: passed },
    state: 'problem',
    says: /though policies need one$/,
  },
  {
    why: 'they are needed, though no node has a taint to try it with',
    facts: { webhooks: readingOf([]), admission: readingOf({ outcome: 'nothing to try' } as const) },
    state: 'problem',
    says: /though policies need one$/,
  },
  {
    why: 'doctor cannot list the policies that would need them',
    facts: { webhooks: readingOf([]), policies: unseen('you may not list them') },
    state: 'skipped',
    says: /whether policies need one: you may not list them$/,
  },
  {
    why: 'another check has the cause',
    facts: { webhooks: readingOf([]), admission: passed, lease: leaderless },
    state: 'skipped',
    says: /see leader$/,
  },
  {
    why: 'no policy needs one',
    facts: {
      webhooks: readingOf([]),
      policies: readingOf([]),
      admission: readingOf({ outcome: 'nothing to try' } as const),
    },
    state: 'ok',
    says: /^no webhook/,
  },
])('is $state when $why', ({ facts, state, says }) => {
  const [check] = run(['registration'], wellFacts(its, facts));
  expect(check?.state).toBe(state);
  expect(check?.evidence).toMatch(says);
});
