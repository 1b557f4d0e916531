import { isPattern } from './pattern.ts';
import type { TaintMode, TaintPolicySpec, TaintRule } from './taint-policy.ts';

/** How long a taint stays before a key with a wildcard protects it, where a policy does not say. */
export const SETTLE_SECONDS = 600;
export const MAX_SETTLE_SECONDS = 86_400;

/**
 * Whether a taint that a rule means is protected only where the node's memory has it: one with a wildcard, unless the policy does
 * not wait. In mode Audit there is no memory, and every taint is reported.
 */
export function waitsToSettle(
  { key }: Pick<TaintRule, 'key'>,
  { settleSeconds }: Pick<TaintPolicySpec, 'settleSeconds'>,
  mode: TaintMode,
): boolean {
  return isPattern(key) && mode !== 'Audit' && settleSeconds !== 0;
}
