import type { CheckResult } from '../check.ts';
import type { ConfigurationFacts } from '../configuration-facts.ts';
import { found } from './found.ts';

const NAME = 'leader';

/**
 * Whether some replica leads.
 * @param cause what another check has found: without replicas that work, or the right to the Lease, nobody can lead
 */
export function checkLeader(
  { lease, installation }: Pick<ConfigurationFacts, 'lease' | 'installation'>,
  cause: CheckResult | undefined,
): CheckResult[] {
  if (!lease.ok) return [found(NAME, 'skipped', lease.why)];
  const { holder, renewed, renewTime, watchedSeconds } = lease.value;
  const name = `Lease ${installation.namespace}/${installation.lease}`;
  if (holder && renewed) return [found(NAME, 'ok', `${holder} holds ${name} and renews it`)];
  const evidence = holder
    ? `${name} is held by ${holder}, which has not renewed it in ${watchedSeconds} s (last: ${renewTime ?? 'never'})`
    : holder === undefined
      ? `there is no ${name}: no replica has ever led`
      : `${name} was given up, and nobody has taken it in ${watchedSeconds} s`;
  if (cause) return [found(NAME, 'skipped', `${evidence}; that may be because of the trouble with ${cause.name}`)];
  const remedy = `kubectl --namespace ${installation.namespace} logs deployment/taintkeeper --tail=200 | grep -i lead; after a crash, a new leader takes up to 20 s`;
  return [found(NAME, 'trouble', `${evidence}: nothing is repaired, and no webhook looked after`, remedy)];
}
