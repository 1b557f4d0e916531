import { NEW_ROLE, OLD_ROLE } from '../kubernetes/roles.ts';
import { formatTaint, sameTaint, type Taint } from '../kubernetes/taint.ts';
import type { MigrationFacts } from './migration-facts.ts';

/** A taint of the old role, and the corresponding one of the new role. */
export interface TaintPair {
  readonly old: Taint;
  readonly new: Taint;
}

/** The pairs with a taint that some node carries, and kubeadm's pair. */
export function taintPairs({ nodes }: Pick<MigrationFacts, 'nodes'>): TaintPair[] {
  const found = nodes.flatMap(({ taints }) => taints.filter(({ key }) => key === OLD_ROLE || key === NEW_ROLE));
  const pairs = [{ key: OLD_ROLE, effect: 'NoSchedule' }, ...found]
    .filter(({ effect }) => effect !== 'PreferNoSchedule')
    .map((taint) => ({ old: withKey(OLD_ROLE, taint), new: withKey(NEW_ROLE, taint) }));
  return [...new Map(pairs.map((pair) => [formatTaint(pair.old), pair])).values()];
}

export function oldRoleTaints(taints: readonly Taint[]): Taint[] {
  return taints.filter(({ key }) => key === OLD_ROLE);
}

/** The taint of the new role that corresponds to one of the old role. */
export function newRoleTaint(old: Taint): Taint {
  return withKey(NEW_ROLE, old);
}

/** Whether a node with these taints also carries the taint of the new role that corresponds to this one of the old role. */
export function hasNewRoleTaint(taints: readonly Taint[], old: Taint): boolean {
  return taints.some((taint) => sameTaint(taint, newRoleTaint(old)));
}

function withKey(key: string, { value, effect }: Omit<Taint, 'key'>): Taint {
  return { key, ...(value ? { value } : {}), effect };
}
