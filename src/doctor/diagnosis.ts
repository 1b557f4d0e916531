import { count } from '../text/counts.ts';
import { AREAS, type Area, type CheckResult } from './check.ts';

/**
 * The area of the first problem, or that there is none. `unknown`: no problem was found, but an essential check or all checks of an
 * area were skipped.
 */
export type DiagnosisResult = Area | 'healthy' | 'unknown';

export interface Diagnosis {
  readonly result: DiagnosisResult;
  /** One line, without the result. */
  readonly summary: string;
  readonly checks: readonly CheckResult[];
}

/** All problems, in the order of {@link AREAS}. */
export function problemsOf(checks: readonly CheckResult[]): CheckResult[] {
  return AREAS.flatMap((area) => checks.filter((check) => check.area === area && check.state === 'problem'));
}

/** Names the first area of {@link AREAS} that has a problem. Checks report causes only, no consequences. */
export function diagnose(checks: readonly CheckResult[]): Diagnosis {
  const [first, ...others] = problemsOf(checks);
  if (first) {
    const more = others.length > 0 ? ` (and ${count(others.length, 'more problem')} below)` : '';
    return { result: first.area, summary: `${first.evidence}${more}`, checks };
  }
  const blindSpot = checks.find((check) => check.state === 'skipped' && (check.essential || isBlind(check.area)));
  if (blindSpot) return { result: 'unknown', summary: `${blindSpot.name}: ${blindSpot.evidence}`, checks };
  const notes = checks.filter(({ state }) => state === 'note').length;
  const skipped = checks.filter(({ state }) => state === 'skipped').length;
  const noted = notes > 0 ? `, ${count(notes, 'note')}` : '';
  const unchecked = skipped > 0 ? `, ${skipped} skipped` : '';
  return {
    result: 'healthy',
    summary: `${count(checks.length - skipped, 'check')}, no problems${noted}${unchecked}`,
    checks,
  };

  function isBlind(area: Area): boolean {
    return checks.every((check) => check.area !== area || check.state === 'skipped');
  }
}
