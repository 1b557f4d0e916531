import { groupedCount } from '../text/counts.ts';
import { DOCTOR } from './doctor-fix.ts';
import type { ReplicaView } from './state-views.ts';
import type { UnrankedProblem } from './unranked-problem.ts';

/** What is wrong with the installation itself. */
export function installationProblems(state: ReplicaView): UnrankedProblem[] {
  return [...checkProblems(state), ...trustProblems(state), ...certificateProblems(state)];
}

/** Whether no replica leads. */
export function leaderProblems({ mode, leader }: ReplicaView): UnrankedProblem[] {
  return mode === 'cluster' && leader.name === undefined && !leader.isThis ? [NO_LEADER] : [];
}

const NO_LEADER: UnrankedProblem = {
  harm: 'Stalled',
  text: 'No replica leads: nothing is restored except within requests',
  fix: DOCTOR,
};

function checkProblems({ checks, policies, mode }: ReplicaView): UnrankedProblem[] {
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

function trustProblems({ webhooks }: ReplicaView): UnrankedProblem[] {
  const distrusting = webhooks.filter(({ trusted }) => trusted === false).map(({ name }) => name);
  if (distrusting.length === 0) return [];
  return [
    {
      harm: 'NotReachable',
      count: distrusting.length,
      text: `The API server does not trust the certificate of ${distrusting.length} of ${groupedCount(webhooks.length, 'webhook')}`,
      names: distrusting,
      why: 'updates that a policy of mode Deny concerns are refused, and all others pass without taintkeeper',
      fix: DOCTOR,
    },
  ];
}

function certificateProblems({ certificate, checks, mode }: ReplicaView): UnrankedProblem[] {
  const isListed = checks.some(({ name, state }) => name === 'certificate' && state !== 'ok');
  if (certificate === undefined || isListed) return [];
  if (!certificate.expiresSoon) return [];
  const hasExpired = certificate.daysLeft < 0;
  const text = hasExpired ? 'has expired' : `expires in ${groupedCount(certificate.daysLeft, 'day')}`;
  const fix = mode === 'cluster' ? DOCTOR : undefined;
  return [{ harm: hasExpired ? 'NotReachable' : 'Stalled', text: `The serving certificate ${text}`, fix }];
}
