import type { CelRule, Constraint } from './schema.ts';
import type { ConstrainedRule } from './taint-rule.ts';

/*
 * What the types of a TaintPolicy's fields do not say, for the program and for the API server.
 */

interface ConstrainedSpec {
  readonly mode: string;
  readonly failurePolicy?: string;
  readonly nodeSelector?: unknown;
  readonly taints: readonly ConstrainedRule[];
}

export const SPEC_CONSTRAINTS: readonly Constraint<ConstrainedSpec>[] = [
  {
    holds: ({ mode, failurePolicy }) => mode !== 'Audit' || failurePolicy !== 'Fail',
    cel: "self.mode != 'Audit' || !has(self.failurePolicy) || self.failurePolicy != 'Fail'",
    message: 'an Audit policy refuses nothing: leave failurePolicy out',
    field: 'failurePolicy',
  },
  {
    holds: ({ nodeSelector, taints }) =>
      nodeSelector !== undefined || taints.every(({ restrict = [] }) => !restrict.includes('Unselection')),
    cel: "has(self.nodeSelector) || self.taints.all(t, !has(t.restrict) || !('Unselection' in t.restrict))",
    message: 'Unselection needs a nodeSelector: a policy without one selects every node',
    field: 'taints',
  },
];

/** For the API server only. `checkContradiction` of taint-policy.ts checks the same, with the other rule. */
export const NO_CONTRADICTION: CelRule = {
  cel:
    'self.taints.all(a, !has(a.ensure) || !has(a.value) || ' +
    'self.taints.all(b, !has(b.ensure) || !has(b.value) || b.key != a.key || ' +
    'has(a.effect) != has(b.effect) || (has(a.effect) && a.effect != b.effect) || a.value == b.value))',
  message: 'two rules with ensure and the same key and effect cannot have different values',
  field: 'taints',
};
