import { all, any, type Expression, FALSE, LIST_COST, not, other, TRUE, type Variable } from '../cel/expression.ts';
import { isIn, those } from '../cel/lists.ts';
import { type NodePolicy, readNodePolicy, selectsBeforeOrAfter } from '../conditions/node-policies.ts';
import { RELEASE_AFTER, RELEASE_BEFORE } from '../conditions/protection-changes.ts';
import { LABELS, LABELS_BEFORE, REQUESTER_VARIABLES } from '../conditions/selection.ts';
import { SETTLED } from '../conditions/settled.ts';
import {
  comesAndGoesByName,
  DROPPED,
  EXACT_NAME,
  IDENTITY,
  isProtected,
  NAMES_AFTER,
  type ProtectingRule,
  TAINTS_AFTER,
  TAINTS_BEFORE,
} from '../conditions/taints.ts';
import type { LabelSelector } from '../kubernetes/label-selector.ts';
import type { TaintPolicy } from '../policy/policy.ts';

/** So many entries of the release annotation are looked at: to look at all that it could have would cost too much. */
export const MAX_RELEASES = 64;

/** To split an annotation, which can have 256 KiB, and to trim its parts. */
export const SPLIT_COST = 110_000;

/** A TaintPolicy as the native policies of others see it. */
export interface NamedNodePolicy extends NodePolicy {
  readonly name: string;
  /** Whether the release annotation lets taints go. */
  readonly releasable: boolean;
}

/** A TaintPolicy as its own native policies see an update of a node. */
export interface NodeSubject extends NamedNodePolicy {
  readonly nodeSelector: LabelSelector | undefined;
  /** True for a requester whom it exempts. */
  readonly exempt: Expression;
  /** What the expressions above use, and `protected`: the dropped taints that the policy protects on a node that it is for, whoever drops them. */
  readonly variables: readonly Variable[];
}

/** What is known of every update. */
const UPDATE_VARIABLES: readonly Variable[] = [
  TAINTS_BEFORE,
  TAINTS_AFTER,
  NAMES_AFTER,
  DROPPED,
  LABELS_BEFORE,
  LABELS,
  ...REQUESTER_VARIABLES,
  RELEASE_BEFORE,
  RELEASE_AFTER,
  SETTLED,
  // What was announced before the request, and what is after it.
  { name: 'announced', definition: entriesOf('oldRelease', MAX_RELEASES) },
  { name: 'entries', definition: entriesOf('release', MAX_RELEASES) },
];

/** Every policy is read for every other one that it may meet: each is so once. */
const known = new WeakMap<TaintPolicy, NamedNodePolicy>();

export function readNamedNodePolicy(policy: TaintPolicy): NamedNodePolicy {
  const { name, spec } = policy;
  const read = known.get(policy) ?? {
    ...readNodePolicy(policy, false),
    name,
    releasable: spec.release !== 'Never' && spec.mode !== 'Audit',
  };
  known.set(policy, read);
  return read;
}

export function readNodeSubject(policy: TaintPolicy): NodeSubject {
  const read = readNamedNodePolicy(policy);
  const { taints, notExempt } = read;
  const [exempt, isExempt] = named('exempt', not(notExempt));
  return {
    ...read,
    nodeSelector: policy.spec.nodeSelector,
    exempt,
    variables: [
      ...UPDATE_VARIABLES,
      ...isExempt,
      { name: 'protected', definition: those('dropped', isProtected(taints)) },
    ],
  };
}

/** True for a taint `t` that an entry of the list names, a bound name: with its value or without. */
export function isNamedIn(list: 'announced' | 'entries'): Expression {
  const names = [IDENTITY, EXACT_NAME];
  return other(
    `[${names.map(({ text }) => text).join(', ')}]\n  .exists(name, name in ${list})`,
    (size) => LIST_COST + names.reduce((sum, name) => sum + name.cost(size) + MAX_RELEASES + 12, 0),
    [list],
  );
}

/** The first entries of an annotation, a bound name. What comes after them is one more entry. */
export function entriesOf(annotation: string, count: number): Expression {
  return other(`${annotation}.split(",", ${count}).map(e, e.trim())`, SPLIT_COST + count * 30, [annotation]);
}

/** A condition under a name, unless it is known without one. */
function named(name: string, definition: Expression): [condition: Expression, variables: Variable[]] {
  if (definition === TRUE || definition === FALSE) return [definition, []];
  return [other(name, 1, [name]), [{ name, definition }]];
}

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
