import type { CelRule, Constraint } from './constraint.ts';
import type { ConstrainedRule } from './taint-rule-constraints.ts';

/*
 * Constraints of a TaintPolicy that the types of its fields do not express, for the program and for the API server.
 */

interface ConstrainedSpec {
  readonly mode: string;
  readonly failurePolicy?: string;
  readonly removalByAnnotation?: string;
  readonly exempt?: { readonly users?: readonly string[]; readonly groups?: readonly string[] };
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
    // `staysOff` in judge/request/node-mutation.ts and `removedForGood` in native/node-restoration.ts do not check that the policy reads their entry.
    holds: ({ removalByAnnotation, exempt: { users = [], groups = [] } = {}, taints }) =>
      removalByAnnotation !== 'Forbidden' ||
      users.length + groups.length === 0 ||
      taints.every(({ ensure }) => ensure !== 'Always'),
    cel:
      "!has(self.removalByAnnotation) || self.removalByAnnotation != 'Forbidden' || !has(self.exempt) || " +
      '((!has(self.exempt.users) || self.exempt.users.size() == 0) && (!has(self.exempt.groups) || self.exempt.groups.size() == 0)) || ' +
      "!self.taints.exists(t, has(t.ensure) && t.ensure == 'Always')",
    message:
      'with ensure: Always and exempt, Forbidden is not allowed: no entry of the annotation could keep a taint off that an exempt user removes, and taintkeeper would set it again',
    field: 'removalByAnnotation',
  },
];

/** For the API server only. `checkContradiction` of taint-policy.ts checks the same, and names the other rule. */
export const NO_CONTRADICTION: CelRule = {
  cel:
    'self.taints.all(a, !has(a.ensure) || !has(a.value) || ' +
    'self.taints.all(b, !has(b.ensure) || !has(b.value) || b.key != a.key || ' +
    'has(a.effect) != has(b.effect) || (has(a.effect) && a.effect != b.effect) || a.value == b.value))',
  message: 'two rules with ensure and the same key and effect cannot have different values',
  field: 'taints',
};
