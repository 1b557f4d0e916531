import type { CheckResult } from '../check.ts';

/** What a check says that could only repeat what another one reports: that one's name; undefined where there is none. */
export function causeAmong(checks: readonly CheckResult[]): string | undefined {
  const cause = checks.find(({ state }) => state === 'trouble');
  return cause && `see ${cause.name}`;
}
