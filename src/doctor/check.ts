import { count } from '../kubernetes/text.ts';

/** What can be to blame, first things first: without trust no call is made, and without calls no setting matters. */
export const AREAS = ['certificate', 'network', 'configuration'] as const;
export type Area = (typeof AREAS)[number];

/**
 * `note`: worth knowing, no trouble. `skipped`: it could not tell anything, because of something that another check
 * reports, or a right that is missing.
 */
export type CheckState = 'ok' | 'note' | 'trouble' | 'skipped';

/** What a check found. */
export interface CheckResult {
  readonly area: Area;
  /** Short and stable, such as `serving certificate`. */
  readonly name: string;
  readonly state: CheckState;
  /** One line: what was seen, with names, times, numbers. Nothing of a private key. */
  readonly evidence: string;
  /** The command, or the one sentence, that mends it. */
  readonly remedy?: string;
  /** Of one that was skipped: without it nobody can say that all is well. */
  readonly essential?: true;
}

/**
 * What taintkeeper suffers from, or that it does not. `unknown`: no trouble was seen, but neither was something essential,
 * or anything at all of some area.
 */
export type Verdict = Area | 'healthy' | 'unknown';

export interface Diagnosis {
  readonly verdict: Verdict;
  /** One line, without the verdict. */
  readonly summary: string;
  readonly checks: readonly CheckResult[];
}

/** Names what is to blame: the first area of {@link AREAS} with trouble. Every check reports causes only, no consequences. */
export function diagnose(checks: readonly CheckResult[]): Diagnosis {
  const troubles = AREAS.flatMap((area) => checks.filter((check) => check.area === area && check.state === 'trouble'));
  const [first, ...others] = troubles;
  if (first) {
    const more = others.length > 0 ? ` (and ${count(others.length, 'more trouble')} below)` : '';
    return { verdict: first.area, summary: `${first.evidence}${more}`, checks };
  }
  const unseen = checks.find((check) => check.state === 'skipped' && (check.essential || isBlind(check.area)));
  if (unseen) return { verdict: 'unknown', summary: `${unseen.name}: ${unseen.evidence}`, checks };
  const notes = checks.filter(({ state }) => state === 'note').length;
  const seen = checks.filter(({ state }) => state !== 'skipped').length;
  const noted = notes > 0 ? `, ${count(notes, 'note')}` : '';
  return { verdict: 'healthy', summary: `${count(seen, 'check')}, no trouble${noted}`, checks };

  function isBlind(area: Area): boolean {
    return checks.every((check) => check.area !== area || check.state === 'skipped');
  }
}
