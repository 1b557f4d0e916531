import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { isEnforced } from '../policy/enforcement.ts';
import type { StateOf } from '../policy/reporting/status-conditions.ts';
import { atMost } from '../text/counts.ts';
import { lackText } from './lack-text.ts';
import { howToDeclare } from './pool-declaration.ts';
import { comingTaints, isOnEveryNode, type UndeclaredTaint } from './undeclared-taints.ts';

/** The report about node pools for a policy that is in force. */
export interface PoolNote extends StateOf<'Ready'> {
  readonly status: 'True';
  readonly reason: 'PoolLacksTaint' | 'PoolsNotPermitted';
}

/** The most pools that a message names, each with a command. */
const MAX_NAMED = 8;

/**
 * The report about node pools in the condition `Ready` of a policy that is in force. Undefined if there is nothing to report: also for a policy in
 * mode Audit, and for pools of which it is not certain that the policy selects all nodes.
 * @param hidden why some pools cannot be read; empty if all can
 */
export function poolNote(
  policy: CompiledTaintPolicy,
  undeclared: readonly UndeclaredTaint[],
  hidden: readonly string[],
): PoolNote | undefined {
  if (!isEnforced(policy) || comingTaints(policy).length === 0) return undefined;
  const certain = undeclared.filter((one) => one.policy.name === policy.name && isOnEveryNode(one));
  const pools = [...Map.groupBy(certain, ({ pool }) => pool)];
  if (pools.length > 0) {
    const texts = pools.map(([pool, of]) => `${lackText(pool, of)}; ${howToDeclare(pool, of)}`);
    return { status: 'True', reason: 'PoolLacksTaint', message: atMost(MAX_NAMED, texts).join('; ') };
  }
  return hidden.length === 0 ? undefined : { status: 'True', reason: 'PoolsNotPermitted', message: hidden.join('; ') };
}
