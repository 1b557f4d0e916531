import { type Policy, parseStoredPolicy } from '../../../src/policy/policy.ts';
import { compilePolicies, type PolicySet } from '../../../src/policy/policy-set.ts';
import type { RecoveryPolicySpec } from '../../../src/policy/recovery-policy.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TolerationPolicySpec } from '../../../src/policy/toleration-policy.ts';
import type { TolerationRestrictionSpec } from '../../../src/policy/toleration-restriction.ts';
import { readPolicy } from '../../e2e/policy-objects.ts';

type Specs<Spec> = Readonly<Record<string, Spec>>;

/** Compiled policies from their specs by name, by way of the same validation that files go through. */
export function policySet(
  specs: {
    taint?: Specs<TaintPolicySpec>;
    toleration?: Specs<TolerationPolicySpec>;
    restriction?: Specs<TolerationRestrictionSpec>;
    recovery?: Specs<RecoveryPolicySpec>;
  },
  options?: { audit?: boolean },
): PolicySet {
  const manifests = [
    ...Object.entries(specs.taint ?? {}).map(([name, spec]) => manifest('TaintPolicy', name, spec)),
    ...Object.entries(specs.toleration ?? {}).map(([name, spec]) => manifest('TolerationPolicy', name, spec)),
    ...Object.entries(specs.restriction ?? {}).map(([name, spec]) => manifest('TolerationRestriction', name, spec)),
    ...Object.entries(specs.recovery ?? {}).map(([name, spec]) => manifest('RecoveryPolicy', name, spec)),
  ];
  return compilePolicies(manifests.map(readPolicy), options);
}

/** TaintPolicies from their specs by name, in force: as they are read, and compiled. */
export function taintSnapshot(specs: Specs<TaintPolicySpec>): { policies: Policy[]; compiled: PolicySet } {
  const policies = Object.entries(specs).map(([name, spec]) => readPolicy(manifest('TaintPolicy', name, spec)));
  return { policies, compiled: compilePolicies(policies) };
}

/**
 * Compiled TaintPolicies from their specs by name, read as from the API server: fields that this version does not know are ignored.
 * @throws Error for a spec that is invalid
 */
export function storedTaintPolicies(specs: Specs<object>): PolicySet['taintPolicies'] {
  const stored = Object.entries(specs).map(([name, spec]) => {
    const { result } = parseStoredPolicy(manifest('TaintPolicy', name, spec));
    if (!result.ok) throw new Error(JSON.stringify({ name, spec, problems: result.problems }));
    return result.policy;
  });
  return compilePolicies(stored).taintPolicies;
}

export function manifest(kind: string, name: string, spec: unknown): object {
  return { apiVersion: 'taintkeeper.dev/v1alpha1', kind, metadata: { name }, spec };
}
