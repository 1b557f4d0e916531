import type { TAINT_EFFECTS, Taint } from '../kubernetes/taint.ts';
import type { TaintRule } from './taint-rule.ts';

/**
 * The rule of a policy that requires the taint.
 * @param taint as a node or its configuration has it: with one of the effects of Kubernetes
 */
export function requiredTaintRule({ key, value, effect }: Taint): TaintRule {
  return {
    key,
    ...(value ? { value } : {}),
    effect: effect as (typeof TAINT_EFFECTS)[number],
    ensure: 'Always',
  };
}
