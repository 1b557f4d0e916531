import { all, any, type Expression, FALSE, not, other, TRUE, type Variable } from '../cel/expression.ts';
import { isIn, those } from '../cel/lists.ts';
import { selectsBeforeOrAfter } from '../cel/node-policies.ts';
import { comesAndGoes, isProtected } from '../cel/taints.ts';
import type { TaintRule } from '../taint-policy.ts';
import { isNamedIn, type NodeSubject } from './node-subject.ts';

/** Policies of one mode that are for the same nodes, exempt the same requesters, and release alike. */
export interface Holder {
  readonly mode: NodeSubject['mode'];
  readonly releasable: boolean;
  /** True for an update of a node that they are for, by somebody whom they do not exempt. */
  readonly binds: Expression;
  readonly variables: readonly Variable[];
  readonly rules: readonly TaintRule[];
}

export function holdersOf(policies: readonly NodeSubject[]): Holder[] {
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
 * True for a taint `t` of `protected` that one of them holds back: it neither exempts the requester nor releases the taint.
 * {@link holdingVariables} have to stand before what uses it.
 */
export function isHeldBy(holders: readonly Holder[]): Expression {
  return any(
    holders.map(({ binds, rules, releasable }) =>
      all([binds, isProtected(rules, isIn('passing')), releasable ? not(isIn('released')) : TRUE]),
    ),
  );
}

/** Besides what they need themselves, of the `protected` taints: those that were announced, and those that no wildcard of theirs means. */
export function holdingVariables(holders: readonly Holder[]): readonly Variable[] {
  return [
    ...holders.flatMap(({ variables }) => variables),
    { name: 'released', definition: those('protected', isNamedIn('announced')) },
    { name: 'passing', definition: those('protected', comesAndGoes(holders.flatMap(({ rules }) => rules))) },
  ];
}
