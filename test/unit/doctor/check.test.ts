import { describe, expect, it } from 'vitest';
import { type Area, type CheckResult, type CheckState, diagnose } from '../../../src/doctor/check.ts';

const check = (area: Area, state: CheckState, evidence = `${area} is ${state}`): CheckResult => ({
  area,
  name: `${area} ${state}`,
  state,
  evidence,
});

describe('a diagnosis', () => {
  it.each<{ why: string; checks: CheckResult[]; verdict: string; summary: string }>([
    {
      why: 'all is well',
      checks: [check('certificate', 'ok'), check('network', 'ok'), check('configuration', 'ok')],
      verdict: 'healthy',
      summary: '3 checks, no trouble',
    },
    {
      why: 'a note is no trouble, and a check that told nothing is not counted',
      checks: [check('network', 'ok'), check('network', 'note'), check('network', 'skipped')],
      verdict: 'healthy',
      summary: '2 checks, no trouble, 1 note',
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
      summary: 'expired (and 2 more troubles below)',
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
