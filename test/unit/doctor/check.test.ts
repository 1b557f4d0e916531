import { describe, expect, it } from 'vitest';
import {
  type Area,
  type Check,
  type CheckName,
  type CheckResult,
  type CheckState,
  consequence,
  diagnose,
  type Finding,
  finding,
  runChecks,
} from '../../../src/doctor/check.ts';
import { CHECKS } from '../../../src/doctor/checks.ts';
import { healthyFacts } from './facts.ts';

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

  it('skips what follows from the trouble of another check, wherever that stands', () => {
    const follows = consequence(finding('trouble', 'nobody listens'));
    expect(results([one('endpoints', 'trouble', ['Service'], follows), one('Service', 'trouble')])).toEqual([
      'endpoints skipped: nobody listens: see Service',
      'Service trouble: Service is trouble',
    ]);
    expect(results([one('endpoints', 'trouble', ['Service'], follows), one('Service', 'note')])).toEqual([
      'endpoints trouble: nobody listens',
      'Service note: Service is note',
    ]);
  });

  it('names the first cause of what follows from what follows', () => {
    const follows = (evidence: string) => consequence(finding('trouble', evidence));
    expect(
      results([
        one('admission', 'trouble', ['round trip'], follows('no call ends')),
        one('round trip', 'trouble', ['endpoints'], follows('nobody answers')),
        one('endpoints', 'trouble'),
      ]),
    ).toEqual([
      'admission skipped: no call ends: see endpoints',
      'round trip skipped: nobody answers: see endpoints',
      'endpoints trouble: endpoints is trouble',
    ]);
  });

  it('reports what is a cause, whatever else there is', () => {
    expect(results([one('endpoints', 'trouble', ['Service']), one('Service', 'trouble')])).toEqual([
      'endpoints trouble: endpoints is trouble',
      'Service trouble: Service is trouble',
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
  it.each<{ why: string; checks: CheckResult[]; verdict: string; summary: string }>([
    {
      why: 'all is well',
      checks: [check('certificate', 'ok'), check('network', 'ok'), check('configuration', 'ok')],
      verdict: 'healthy',
      summary: '3 checks, no problems',
    },
    {
      why: 'a note is no problems, and a check that told nothing is not counted',
      checks: [check('network', 'ok'), check('network', 'note'), check('network', 'skipped')],
      verdict: 'healthy',
      summary: '2 checks, no problems, 1 note',
    },
    {
      why: 'one trouble',
      checks: [check('certificate', 'ok'), check('network', 'trouble', 'nobody listens')],
      verdict: 'network',
      summary: 'nobody listens',
    },
    {
      why: 'trust comes first, whatever the order of the checks',
      checks: [
        check('configuration', 'trouble'),
        check('network', 'trouble'),
        check('certificate', 'trouble', 'expired'),
      ],
      verdict: 'certificate',
      summary: 'expired (and 2 more problems below)',
    },
    {
      why: 'of one area nothing could be seen',
      checks: [check('certificate', 'skipped', 'no right to get the Secret'), check('network', 'ok')],
      verdict: 'unknown',
      summary: 'certificate skipped: no right to get the Secret',
    },
    {
      why: 'something essential could not be seen, though something else of its area could',
      checks: [check('network', 'ok'), { ...check('network', 'skipped', 'no right'), essential: true }],
      verdict: 'unknown',
      summary: 'network skipped: no right',
    },
    {
      why: 'trouble that was seen is not called unknown',
      checks: [check('certificate', 'skipped'), check('network', 'trouble', 'nobody listens')],
      verdict: 'network',
      summary: 'nobody listens',
    },
  ])('$why', ({ checks, verdict, summary }) => {
    expect(diagnose(checks)).toEqual({ verdict, summary, checks });
  });
});
