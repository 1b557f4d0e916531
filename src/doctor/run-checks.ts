import { printable } from '../text/printable.ts';
import type { Check, CheckResult, Finding } from './check.ts';

/**
 * Runs checks. Only causes are problems: a finding that may follow from the problem of another check is skipped, and names that check.
 * @param selected the checks whose results are returned; of the others only those run that these depend on
 * @throws Error if a check depends on itself, or on one that is not in the list
 */
export function runChecks<F, Name extends string>(
  all: readonly Check<F, Name>[],
  facts: F,
  selected: readonly Check<F, Name>[] = all,
): CheckResult[] {
  const results = new Map<Name, readonly CheckResult[] | 'running'>();
  /** The problems from which skipped results follow. What depends on a skipped check has the same cause. */
  const causes = new Map<CheckResult, CheckResult>();
  return selected.flatMap(resultsOf);

  function resultsOf(check: Check<F, Name>): readonly CheckResult[] {
    const earlier = results.get(check.name);
    if (earlier === 'running') throw new Error(`${check.name} depends on itself`);
    if (earlier) return earlier;
    results.set(check.name, 'running');
    for (const name of check.dependsOn) resultsOf(named(name));
    const ofCheck = [check.run(facts)].flat().map((finding) => resultOf(check, finding));
    results.set(check.name, ofCheck);
    return ofCheck;
  }

  function resultOf(check: Check<F, Name>, found: Finding<Name>): CheckResult {
    const { consequence, area = check.area, name = check.printed ?? check.name, ...finding } = found;
    const { evidence, remedy } = finding;
    const cause = consequence && causeAmong(consequence.of ?? check.dependsOn);
    if (cause) {
      const evidence = printable(consequence.says(cause.name));
      const skipped: CheckResult = { area: check.area, name, state: 'skipped', evidence };
      causes.set(skipped, cause);
      return skipped;
    }
    const words = { evidence: printable(evidence), ...(remedy === undefined ? {} : { remedy: printable(remedy) }) };
    return { area, name, ...finding, ...words };
  }

  function causeAmong(names: readonly Name[]): CheckResult | undefined {
    const candidates = names.flatMap((name) => resultsOf(named(name)));
    return (
      candidates.find(({ state }) => state === 'problem') ??
      candidates.map((skipped) => causes.get(skipped)).find(Boolean)
    );
  }

  function named(name: Name): Check<F, Name> {
    const check = all.find((candidate) => candidate.name === name);
    if (!check) throw new Error(`there is no check ${name}`);
    return check;
  }
}
