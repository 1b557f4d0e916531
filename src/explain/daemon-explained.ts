import { policiesInForce } from '../cluster/policies/policy-object.ts';
import { compilePolicies } from '../policy/policy-set.ts';
import type { SchedulingNode } from '../scheduling/coverage.ts';
import type { Facts } from './explained-facts.ts';
import type { InForce, PoliciesOnDaemon } from './policies-on-daemon.ts';
import { type PolicyProblem, problemsOf } from './policy-problems.ts';

/** What the explanations of a DaemonSet and of a pod have in common, as data. */
export interface DaemonExplanation extends PoliciesOnDaemon, Omit<Facts, 'policies'> {
  readonly namespace: string;
  readonly name: string;
  readonly managedBy: string | undefined;
  /** Its controller, if it has one. */
  readonly owner: { readonly kind: string; readonly name: string } | undefined;
  readonly problems: readonly PolicyProblem[];
}

export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

/** The facts besides the object itself. */
export interface DaemonFacts extends Facts {
  readonly nodes: readonly SchedulingNode[];
}

export function inForceOf(objects: Facts['policies'], audit: boolean): InForce {
  const policies = policiesInForce(objects);
  return { policies, compiled: compilePolicies(policies, { audit }), audit };
}

export function problemsFor({ policies: found }: PoliciesOnDaemon, policies: Facts['policies']): PolicyProblem[] {
  const selecting = found.filter(({ unmet }) => unmet.length === 0);
  return problemsOf(policies, ({ kind, name }) => selecting.some((one) => one.kind === kind && one.policy === name));
}

/** Whether taints evict its pods repeatedly from nodes where they run. */
export function isEvicted({ places }: PoliciesOnDaemon): boolean {
  return places.some(({ evictedBy }) => evictedBy.length > 0);
}

export function lacksTolerations({ tolerations }: PoliciesOnDaemon): boolean {
  return tolerations.some(({ state }) => state === 'missing');
}
