import { describe, expect, it } from 'vitest';
import {
  type Area,
  type Check,
  type CheckName,
  type CheckResult,
  type CheckState,
  consequence,
  type Finding,
  finding,
} from '../../../src/doctor/check.ts';
import { CHECKS } from '../../../src/doctor/checks.ts';
import { diagnose } from '../../../src/doctor/diagnosis.ts';
import { runChecks } from '../../../src/doctor/run-checks.ts';
import { healthyFacts, unseen } from './facts.ts';

const check = (area: Area, state: CheckState, evidence = `${area} is ${state}`): CheckResult => ({
  area,
  name: `${area} ${state}`,
  state,
  evidence,
});

const one = (name: CheckName, state: CheckState, dependsOn: CheckName[] = [], more: Partial<Finding> = {}): Check => ({
  name,
  area: 'network',
  dependsOn,
  run: () => ({ ...finding(state, `${name} is ${state}`), ...more }),
});

describe('the list of checks', () => {
  const results = (checks: Check[]) =>
    runChecks(checks, healthyFacts()).map(({ name, state, evidence }) => `${name} ${state}: ${evidence}`);

  it('skips what follows from the problem of another check, wherever that stands', () => {
    const follows = consequence(finding('problem', 'no replica listens'));
    expect(results([one('endpoints', 'problem', ['Service'], follows), one('Service', 'problem')])).toEqual([
      'endpoints skipped: no replica listens: see Service',
      'Service problem: Service is problem',
    ]);
    expect(results([one('endpoints', 'problem', ['Service'], follows), one('Service', 'note')])).toEqual([
      'endpoints problem: no replica listens',
      'Service note: Service is note',
    ]);
  });

  it('names the first cause of what follows from what follows', () => {
    const follows = (evidence: string) => consequence(finding('problem', evidence));
    expect(
      results([
        one('admission', 'problem', ['round trip'], follows('no call ends')),
        one('round trip', 'problem', ['endpoints'], follows('no replica answers')),
        one('endpoints', 'problem'),
      ]),
    ).toEqual([
      'admission skipped: no call ends: see endpoints',
      'round trip skipped: no replica answers: see endpoints',
      'endpoints problem: endpoints is problem',
    ]);
  });

  it('reports what is a cause, whatever else there is', () => {
    expect(results([one('endpoints', 'problem', ['Service']), one('Service', 'problem')])).toEqual([
      'endpoints problem: endpoints is problem',
      'Service problem: Service is problem',
    ]);
  });

  it('has no check that depends on itself, or on one that is not there', () => {
    expect(() => results([one('Service', 'ok', ['endpoints']), one('endpoints', 'ok', ['Service'])])).toThrow(
      'Service depends on itself',
    );
    expect(() => results([one('Service', 'ok', ['endpoints'])])).toThrow('there is no check endpoints');
    expect(runChecks(CHECKS, healthyFacts()).filter(({ state }) => state !== 'ok')).toEqual([]);
  });
});

describe('a diagnosis', () => {
  it.each<{ why: string; checks: CheckResult[]; result: string; summary: string }>([
    {
      why: 'all is well',
      checks: [check('certificate', 'ok'), check('network', 'ok'), check('configuration', 'ok')],
      result: 'healthy',
      summary: '3 checks, no problems',
    },
    {
      why: 'a note is no problem, and a skipped check is counted apart',
      checks: [check('network', 'ok'), check('network', 'note'), check('network', 'skipped')],
      result: 'healthy',
      summary: '2 checks, no problems, 1 note, 1 skipped',
    },
    {
      why: 'one problem',
      checks: [check('certificate', 'ok'), check('network', 'problem', 'no replica listens')],
      result: 'network',
      summary: 'no replica listens',
    },
    {
      why: 'trust comes first, whatever the order of the checks',
      checks: [
        check('configuration', 'problem'),
        check('network', 'problem'),
        check('certificate', 'problem', 'expired'),
      ],
      result: 'certificate',
      summary: 'expired (and 2 more problems below)',
    },
    {
      why: 'of one area nothing could be seen',
      checks: [check('certificate', 'skipped', 'no right to get the Secret'), check('network', 'ok')],
      result: 'unknown',
      summary: 'certificate skipped: no right to get the Secret',
    },
    {
      why: 'something essential could not be seen, though something else of its area could',
      checks: [check('network', 'ok'), { ...check('network', 'skipped', 'no right'), essential: true }],
      result: 'unknown',
      summary: 'network skipped: no right',
    },
    {
      why: 'a problem that was seen is not called unknown',
      checks: [check('certificate', 'skipped'), check('network', 'problem', 'no replica listens')],
      result: 'network',
      summary: 'no replica listens',
    },
  ])('$why', ({ checks, result, summary }) => {
    expect(diagnose(checks)).toEqual({ result, summary, checks });
  });
});

it.each(['policies', 'nodes', 'daemonSets'])('a cluster whose %s could not be read is not called healthy', (unread) => {
  const facts = healthyFacts({ [unread]: unseen('no answer within 20000 ms') });
  expect(diagnose(runChecks(CHECKS, facts))).toMatchObject({
    result: 'unknown',
    summary: expect.stringMatching(/: no answer within 20000 ms$/),
  });
});
