import { count, DOCTOR, type Registered, type UnrankedProblem } from './unranked-problem.ts';

const DAY_MS = 86_400_000;

/** What is wrong with the installation itself. @param now milliseconds since the epoch */
export function installationProblems(state: Registered, now: number): UnrankedProblem[] {
  return [...checkProblems(state), ...trustProblems(state), ...certificateProblems(state, now)];
}

/** Whether no replica leads. */
export function leaderProblems({ mode, leader }: Registered): UnrankedProblem[] {
  return mode === 'cluster' && leader.name === undefined && !leader.isThis ? [NO_LEADER] : [];
}

const NO_LEADER: UnrankedProblem = {
  harm: 'Stalled',
  text: 'No replica leads: nothing is restored except within requests',
  fix: DOCTOR,
};

function checkProblems({ checks, policies, mode }: Registered): UnrankedProblem[] {
  const named = policies.some(({ valid }) => !valid);
  const fix = mode === 'cluster' ? DOCTOR : undefined;
  return checks.flatMap(({ name, state, detail }): UnrankedProblem[] => {
    // Each policy that is not in force is a problem of its own.
    if (state === 'ok' || (name === 'policies' && state === 'degraded' && named)) return [];
    const harm = state !== 'failed' ? 'Stalled' : name === 'policies' ? 'NotInForce' : 'NotReachable';
    const text = `${name.charAt(0).toUpperCase()}${name.slice(1)}: ${detail}`;
    return [{ harm, text, fix, ...(name === 'policies' ? { place: { tab: 'policies' } } : {}) }];
  });
}

function trustProblems({ webhooks }: Registered): UnrankedProblem[] {
  const distrusting = webhooks.filter(({ trusted }) => trusted === false).map(({ name }) => name);
  if (distrusting.length === 0) return [];
  return [
    {
      harm: 'NotReachable',
      count: distrusting.length,
      text: `The API server does not trust the certificate of ${distrusting.length} of ${count(webhooks.length, 'webhook')}`,
      names: distrusting,
      why: 'updates that a policy of mode Deny concerns are refused, and all others pass without taintkeeper',
      fix: DOCTOR,
    },
  ];
}

function certificateProblems({ certificate, checks, mode }: Registered, now: number): UnrankedProblem[] {
  const isListed = checks.some(({ name, state }) => name === 'certificate' && state !== 'ok');
  if (certificate === undefined || isListed) return [];
  if (!certificate.expiresSoon) return [];
  const remainingMs = Date.parse(certificate.notAfter) - now;
  const text = remainingMs <= 0 ? 'has expired' : `expires in ${count(Math.floor(remainingMs / DAY_MS), 'day')}`;
  const fix = mode === 'cluster' ? DOCTOR : undefined;
  return [{ harm: remainingMs <= 0 ? 'NotReachable' : 'Stalled', text: `The serving certificate ${text}`, fix }];
}
