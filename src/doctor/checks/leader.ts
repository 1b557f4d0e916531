import type { Access } from '../../cluster/access-review.ts';
import { shortName } from '../../cluster/own-names.ts';
import { type PolicyObject, policiesInForce } from '../../cluster/policy-object.ts';
import { missingRightText } from '../../cluster/rights.ts';
import { askedRights, type OptionalRight } from '../../policy/asked-rights.ts';
import { webhookEntries } from '../../webhooks/entries.ts';
import { consequence, type Finding, finding, needs } from '../check.ts';
import type { Facts } from '../facts.ts';
import { type Installation, reinstall } from '../installation.ts';
import { leaderLog, replicaLogs } from '../leader-log.ts';
import { grantCommand } from '../rights-review.ts';
import { hasLeader } from '../watch-lease.ts';

/** Checks that a replica leads. Without working replicas, or the right to write the Lease, none can. */
export function checkLeader({ lease, installation }: Pick<Facts, 'lease' | 'installation'>): Finding {
  if (!lease.ok) return finding('skipped', lease.why);
  const { holder, renewTime, watchedSeconds } = lease.value;
  const name = `Lease ${installation.namespace}/${installation.lease}`;
  if (hasLeader(lease.value)) return finding('ok', `${holder} holds ${name} and renews it`);
  const evidence = holder
    ? `${name} is held by ${holder}, which has not renewed it in ${watchedSeconds} s (last: ${renewTime ?? 'never'})`
    : holder === undefined
      ? `${name} not found: no replica has ever led`
      : `${name} was released, and no replica has taken it in ${watchedSeconds} s`;
  const remedy = `after a crash, a new leader takes up to 17 s: run doctor again. If no replica leads then, their logs say why: ${replicaLogs(installation)} | grep -i lead`;
  return consequence(
    finding('problem', `${evidence}: nothing is repaired, and webhooks are not kept up to date`, remedy),
    (cause) => `${evidence}; that may be because of the problem with ${cause}`,
  );
}

/** Checks the rights that the service account always needs. */
export function checkRights({ rights, installation }: Pick<Facts, 'rights' | 'installation'>): Finding {
  if (!rights.ok) {
    const remedy = 'run doctor with permission to create subjectaccessreviews, as cluster-admin for example';
    return finding('skipped', rights.why, remedy);
  }
  const { user, asked, lacking } = rights.value;
  if (lacking.length === 0) return finding('ok', `${user} has all ${asked} that it needs`);
  return finding('problem', `${user} may not ${formatAccesses(lacking)}`, reinstall(installation));
}

/** Checks the rights that the policies need in addition. */
export function checkPermissions({
  rights,
  installation,
  policies,
}: Pick<Facts, 'rights' | 'installation' | 'policies'>): readonly Finding[] {
  return needs({ rights, policies }, ({ rights: { missingRights }, policies: all }) =>
    all.flatMap((policy) => checkPolicy(policy, missingRights, installation)),
  );
}

function checkPolicy(
  { kind, name, result }: PolicyObject,
  missing: readonly OptionalRight[],
  installation: Installation,
): Finding[] {
  const asked = result.ok ? askedRights(result.policy, installation.audit) : [];
  return asked
    .filter(({ right }) => missing.includes(right))
    .map(({ right, by }) =>
      finding('problem', `${kind} ${name}: ${missingRightText(right, by)}`, grantCommand(right, installation)),
    );
}

/** Such as `list, watch pods; get secrets taintkeeper-certs in taintkeeper`. */
function formatAccesses(accesses: readonly Access[]): string {
  const byObject = Map.groupBy(accesses, ({ resource, group, name, namespace }) => {
    const type = group === '' ? resource : `${resource}.${group}`;
    return `${type}${name === undefined ? '' : ` ${name}`}${namespace === undefined ? '' : ` in ${namespace}`}`;
  });
  return [...byObject].map(([object, all]) => `${all.map(({ verb }) => verb).join(', ')} ${object}`).join('; ');
}

/** Checks that webhooks are registered if policies need them. Other checks report most causes. */
export function checkRegistration({
  webhooks,
  policies,
  installation,
  lease,
}: Pick<Facts, 'webhooks' | 'policies' | 'installation' | 'lease'>): Finding {
  if (!webhooks.ok) return finding('skipped', webhooks.why);
  const names = webhooks.value.map(({ name }) => shortName(name));
  if (names.length > 0) return finding('ok', `registered: ${names.join(', ')}`);
  if (!policies.ok)
    return consequence(finding('skipped', `no webhook is registered; whether policies need one: ${policies.why}`));
  const needed = webhookEntries(policiesInForce(policies.value), installation);
  if (needed.length === 0) return finding('ok', 'no webhook is registered, and no policy needs one');
  const remedy = `the leader registers them as soon as it is reached through the Service; its log says what prevents that: ${leaderLog({ lease, installation })}`;
  return consequence(finding('problem', 'no webhook is registered, though policies need one', remedy));
}
