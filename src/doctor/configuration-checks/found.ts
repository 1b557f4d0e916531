import { printable } from '../../kubernetes/text.ts';
import type { CheckResult, CheckState } from '../check.ts';
import type { Reading } from '../reading.ts';

/** A result of this area. Evidence and remedy may hold what stands in objects. */
export function found(name: string, state: CheckState, evidence: string, remedy?: string): CheckResult {
  return {
    area: 'configuration',
    name,
    state,
    evidence: printable(evidence),
    ...(remedy === undefined ? {} : { remedy: printable(remedy) }),
  };
}

/** The check cannot tell anything because these could not be read; undefined when all of them were. */
export function unread(name: string, ...readings: readonly Reading<unknown>[]): CheckResult | undefined {
  const failed = readings.find((reading) => !reading.ok);
  return failed && found(name, 'skipped', failed.why);
}
