import type { Access } from '../../cluster/rights/access-review.ts';
import { type Finding, finding } from '../check.ts';
import type { Facts } from '../facts/facts.ts';
import { reinstall } from '../reinstall.ts';

/** Checks the rights that the service account always needs. */
export function checkRights({ rights, installation }: Pick<Facts, 'rights' | 'installation'>): Finding {
  if (!rights.ok) {
    const remedy = 'run doctor with permission to create subjectaccessreviews, as cluster-admin for example';
    return finding('skipped', rights.why, remedy);
  }
  const { user, reviewed, missingNeeded } = rights.value;
  if (missingNeeded.length === 0) return finding('ok', `${user} has all ${reviewed} that it needs`);
  return finding('problem', `${user} may not ${formatAccesses(missingNeeded)}`, reinstall(installation));
}

/** Such as `list, watch pods; get secrets taintkeeper-certs in taintkeeper`. */
function formatAccesses(accesses: readonly Access[]): string {
  const byObject = Map.groupBy(accesses, ({ resource, group, name, namespace }) => {
    const type = group === '' ? resource : `${resource}.${group}`;
    return `${type}${name === undefined ? '' : ` ${name}`}${namespace === undefined ? '' : ` in ${namespace}`}`;
  });
  return [...byObject].map(([object, all]) => `${all.map(({ verb }) => verb).join(', ')} ${object}`).join('; ');
}
