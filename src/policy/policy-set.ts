import { type CompiledTaintPolicy, compileTaintPolicy, startupKeysOf } from './compiled-taint-policy.ts';
import { type CompiledTolerationPolicy, compileTolerationPolicy } from './compiled-toleration-policy.ts';
import type { Policy } from './policy.ts';
import { type CompiledRecoveryPolicy, compileRecoveryPolicy, DEFAULT_RECOVERY_MODE } from './recovery-policy.ts';
import { type CompiledTolerationRestriction, compileTolerationRestriction } from './toleration-restriction.ts';

/** An immutable snapshot of all policies, ready to judge with. The strongest mode first, then by name. */
export interface PolicySet {
  readonly taintPolicies: readonly CompiledTaintPolicy[];
  readonly tolerationPolicies: readonly CompiledTolerationPolicy[];
  readonly tolerationRestrictions: readonly CompiledTolerationRestriction[];
  readonly recoveryPolicies: readonly CompiledRecoveryPolicy[];
}

/**
 * Compiles valid policies into a snapshot. With `audit`, every policy counts as mode Audit.
 * The names of policies of one kind must differ. The caller checks that.
 */
export function compilePolicies(policies: readonly Policy[], { audit = false } = {}): PolicySet {
  const effective = <Mode extends string>(mode: Mode): Mode | 'Audit' => (audit ? 'Audit' : mode);
  const startupKeys = startupKeysOf(policies);
  return {
    taintPolicies: policies
      .filter((policy) => policy.kind === 'TaintPolicy')
      .map((policy) => compileTaintPolicy(policy, { mode: effective(policy.spec.mode), startupKeys }))
      .sort(byStrength),
    tolerationPolicies: policies
      .filter((policy) => policy.kind === 'TolerationPolicy')
      .map((policy) => compileTolerationPolicy(policy, effective(policy.spec.mode)))
      .sort(byStrength),
    tolerationRestrictions: policies
      .filter((policy) => policy.kind === 'TolerationRestriction')
      .map((policy) => compileTolerationRestriction(policy, effective(policy.spec.mode)))
      .sort(byStrength),
    recoveryPolicies: policies
      .filter((policy) => policy.kind === 'RecoveryPolicy')
      .map((policy) => compileRecoveryPolicy(policy, effective(policy.spec.mode ?? DEFAULT_RECOVERY_MODE)))
      .sort(byStrength),
  };
}

type Ranked = Pick<CompiledTaintPolicy, 'rank' | 'name'>;

/** The strongest mode first, then by name. */
export function byStrength(a: Ranked, b: Ranked): number {
  return a.rank - b.rank || byName(a, b);
}

export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
