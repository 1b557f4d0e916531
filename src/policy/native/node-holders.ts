import { all, any, type Expression, FALSE, not, other, TRUE, type Variable } from '../cel/expression.ts';
import { isIn } from '../cel/lists.ts';
import { selectsBeforeOrAfter } from '../cel/node-policies.ts';
import { comesAndGoesByName, isProtected, type ProtectingRule } from '../cel/taints.ts';
import type { NamedNodePolicy } from './node-subject.ts';

/** Policies of one mode that are for the same nodes, exempt the same requesters, and release alike. */
export interface Holder {
  readonly mode: NamedNodePolicy['mode'];
  readonly releasable: boolean;
  /** True for an update of a node that they are for, by somebody whom they do not exempt. */
  readonly binds: Expression;
  readonly variables: readonly Variable[];
  readonly rules: readonly ProtectingRule[];
}

export function holdersOf(policies: readonly NamedNodePolicy[]): Holder[] {
  const groups = Map.groupBy(policies, ({ mode, releasable, subject }) => JSON.stringify([mode, releasable, subject]));
  return [...groups.values()].flatMap((alike, index) => {
    const [first] = alike;
    if (!first) return [];
    const definition = all([selectsBeforeOrAfter(first), first.notExempt]);
    const isKnown = definition === TRUE || definition === FALSE;
    // Asked once, and not for each taint. The name is for the reader; the number tells apart what becomes the same.
    const name = `binds${index + 1}_${first.name.replace(/[^a-z0-9]/g, '_')}`;
    return {
      mode: first.mode,
      releasable: first.releasable,
      binds: isKnown ? definition : other(name, 1, [name]),
      variables: isKnown ? [] : [{ name, definition }],
      rules: alike.flatMap(({ taints }) => taints),
    };
  });
}

/**
 * True for a taint `t` that one of them holds back, of those that a policy with these rules protects: it neither exempts the
 * requester nor releases the taint. The list `released` has those that were announced.
 */
export function isHeldBy(holders: readonly Holder[], protecting: readonly ProtectingRule[]): Expression {
  // What the policy protects by a wildcard does not come and go.
  const passing = comesAndGoesByName(protecting);
  return any(
    holders.map(({ binds, rules, releasable }) =>
      all([binds, isProtected(rules, passing), releasable ? not(isIn('released')) : TRUE]),
    ),
  );
}
