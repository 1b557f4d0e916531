import type { CheckResult } from './check.ts';
import { checkContradictions } from './configuration-checks/contradictions.ts';
import { checkFailedCalls } from './configuration-checks/failed-calls.ts';
import { checkIgnoredDaemonSets } from './configuration-checks/ignored-daemon-sets.ts';
import { checkLeader } from './configuration-checks/leader.ts';
import { checkOtherWebhooks } from './configuration-checks/other-webhooks.ts';
import { checkPolicies } from './configuration-checks/policies-in-force.ts';
import { checkPermissions, checkRights } from './configuration-checks/rights.ts';
import { checkSelectors } from './configuration-checks/selectors.ts';
import { checkVersions } from './configuration-checks/versions.ts';
import { checkWildcards } from './configuration-checks/wildcards.ts';
import type { ConfigurationFacts } from './configuration-facts.ts';

/**
 * What there is to say of the configuration.
 * @param elsewhere what the checks of the other areas have found: without certificates and network nobody can lead, and what
 * a leader leaves undone then is no trouble of its own
 */
export function checkConfiguration(facts: ConfigurationFacts, elsewhere: readonly CheckResult[]): CheckResult[] {
  const trouble = (results: readonly CheckResult[]) => results.find(({ state }) => state === 'trouble');
  const rights = checkRights(facts);
  // What some policies ask for keeps nobody from leading.
  const permissions = checkPermissions(facts);
  const cause = trouble([...elsewhere, ...rights]);
  const leader = checkLeader(facts, cause);
  // A webhook that refuses what the leader writes.
  const webhooks = checkOtherWebhooks(facts);
  return [
    ...checkPolicies(facts, cause ?? trouble([...leader, ...webhooks]), trouble(permissions)),
    ...checkSelectors(facts),
    ...checkContradictions(facts),
    ...checkWildcards(facts),
    ...webhooks,
    ...rights,
    ...permissions,
    ...leader,
    ...checkFailedCalls(facts),
    ...checkVersions(facts),
    ...checkIgnoredDaemonSets(facts),
  ];
}
