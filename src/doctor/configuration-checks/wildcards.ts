import { wildcardNotes } from '../../judge/findings.ts';
import type { CheckResult } from '../check.ts';
import type { ConfigurationFacts } from '../configuration-facts.ts';
import { found } from './found.ts';
import { validPolicies } from './valid-policies.ts';

/** What there is to know of policies that mean every taint. */
export function checkWildcards({ policies }: Pick<ConfigurationFacts, 'policies'>): CheckResult[] {
  if (!policies.ok) return [];
  return validPolicies(policies.value).flatMap((policy) =>
    wildcardNotes(policy).map((note) =>
      found(
        'wildcards',
        'note',
        `${policy.kind} ${policy.name}: ${note}`,
        `kubectl edit ${policy.kind.toLowerCase()} ${policy.name}`,
      ),
    ),
  );
}
