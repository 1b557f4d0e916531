import {
  all,
  any,
  cel,
  type Expression,
  FALSE,
  LIST_COST,
  not,
  reference,
  TRUE,
  type Variable,
} from '../cel/expression.ts';
import { isIn, those } from '../cel/lists.ts';
import { conditionsOf, rulesOf, selectsBeforeOrAfter } from '../conditions/node-policies.ts';
import { ALLOW_REMOVAL_AFTER, ALLOW_REMOVAL_BEFORE } from '../conditions/node-update.ts';
import { isProtected, isTransientByName } from '../conditions/protected-taints.ts';
import { LABELS, LABELS_BEFORE, REQUESTER_VARIABLES } from '../conditions/selection.ts';
import {
  ADDED,
  EXACT_NAME,
  IDENTITY,
  NAMES_AFTER,
  NAMES_BEFORE,
  REMOVED,
  TAINTS_AFTER,
  TAINTS_BEFORE,
} from '../conditions/taints.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';

/** The number of entries of the allow-removal annotation that are read. Reading all possible entries would cost too much. */
export const MAX_ALLOWED_REMOVALS = 64;

/** Cost of splitting an annotation, which can have 256 KiB, and of trimming its parts. */
export const SPLIT_COST = 110_000;

/** The first entries of the annotation. The rest is one more entry. */
function entriesOf(annotation: Variable): Expression {
  return cel(
    SPLIT_COST + MAX_ALLOWED_REMOVALS * 30,
  )`${annotation}.split(",", ${MAX_ALLOWED_REMOVALS}).map(e, e.trim())`;
}

/** The entries of the allow-removal annotation before an update, and after it. */
export const ANNOUNCED: Variable = {
  name: 'announced',
  definition: entriesOf(ALLOW_REMOVAL_BEFORE),
};
export const ENTRIES: Variable = { name: 'entries', definition: entriesOf(ALLOW_REMOVAL_AFTER) };

/** The notice that a taint `t` with this value was removed with permission: see {@link ALLOW_REMOVAL_ANNOTATION}. */
export const NOTICE: Expression = cel(EXACT_NAME.cost(0) + 5)`${EXACT_NAME} + "-"`;

/** `key:Effect` of announced or removed taints, with any value. */
export const ANNOUNCED_IDS: Variable = {
  name: 'announcedIds',
  definition: cel(4 * SPLIT_COST + MAX_ALLOWED_REMOVALS * 300)`${ANNOUNCED}.filter(e, e.contains(":"))
  .map(e, e.split(":")[0].split("=")[0] + e.substring(e.lastIndexOf(":")).replace("-", ""))`,
};

/** Variables for every update. */
const UPDATE_VARIABLES: readonly Variable[] = [
  TAINTS_BEFORE,
  TAINTS_AFTER,
  NAMES_AFTER,
  REMOVED,
  NAMES_BEFORE,
  ADDED,
  LABELS_BEFORE,
  LABELS,
  ...REQUESTER_VARIABLES,
  ALLOW_REMOVAL_BEFORE,
  ALLOW_REMOVAL_AFTER,
  ANNOUNCED,
  ENTRIES,
];

/** True for a requester whom the policy exempts. */
export function exemptedBy(policy: CompiledTaintPolicy): Expression {
  return exemption(policy).condition;
}

function exemption(policy: CompiledTaintPolicy): NamedCondition {
  return named('exempt', not(conditionsOf(policy).notExempt));
}

/**
 * What the policies for an update use, also {@link exemptedBy}, and `protected`: the removed taints that the policy protects on a node that it
 * selects, whichever user removes them.
 */
export function updateVariables(policy: CompiledTaintPolicy): Variable[] {
  const isProtectedByIt: Variable = {
    name: 'protected',
    definition: those('removed', isProtected(policy.removalRules)),
  };
  return [...UPDATE_VARIABLES, ...exemption(policy).variables, isProtectedByIt];
}

/** True for a taint `t` that an entry of the list names, with its value or without. */
export function isNamedIn(list: Variable): Expression {
  const names = [IDENTITY, EXACT_NAME];
  const cost = (size: number) =>
    names.reduce((sum, name) => sum + name.cost(size) + MAX_ALLOWED_REMOVALS + 12, LIST_COST);
  return cel(cost)`[${IDENTITY}, ${EXACT_NAME}]\n  .exists(name, name in ${list})`;
}

/** A condition with a name, and the variable of that name. */
interface NamedCondition {
  readonly condition: Expression;
  /** Empty if the condition needs no variable. */
  readonly variables: readonly Variable[];
}

function named(name: string, definition: Expression): NamedCondition {
  if (definition === TRUE || definition === FALSE) return { condition: definition, variables: [] };
  return { condition: reference(name), variables: [{ name, definition }] };
}

/** Policies of one mode that select the same nodes, exempt the same requesters, and have the same removalByAnnotation. */
export interface Holder {
  readonly mode: CompiledTaintPolicy['mode'];
  readonly allowsRemovalByAnnotation: boolean;
  /** True for an update of a node that they select, by a user whom they do not exempt. */
  readonly binds: NamedCondition;
  readonly rules: readonly CompiledTaintRule[];
}

/** Which of their rules count, and the names of the variables. */
interface Held {
  readonly rules?: (policies: readonly CompiledTaintPolicy[]) => CompiledTaintRule[];
  readonly prefix?: string;
}

export function policyGroups(
  policies: readonly CompiledTaintPolicy[],
  { rules = rulesOf, prefix = 'binds' }: Held = {},
): Holder[] {
  const groups = Map.groupBy(policies, (policy) => {
    const { nodes, exempt } = conditionsOf(policy);
    return JSON.stringify([policy.mode, policy.allowsRemovalByAnnotation, nodes, exempt]);
  });
  return [...groups.values()].flatMap((alike, index) => {
    const [first] = alike;
    if (!first) return [];
    const binds = all([selectsBeforeOrAfter(first), conditionsOf(first).notExempt]);
    // Evaluated once, and not for each taint. The name is for the reader, and the number distinguishes equal names.
    const name = `${prefix}${index + 1}_${first.name.replace(/[^a-z0-9]/g, '_')}`;
    return {
      mode: first.mode,
      allowsRemovalByAnnotation: first.allowsRemovalByAnnotation,
      binds: named(name, binds),
      rules: rules(alike),
    };
  });
}

/**
 * True for a taint `t` that one of them keeps: it does not exempt the requester, and does not allow the removal.
 *
 * @param isRemovalAllowed true for a taint whose removal was announced
 * @param transient true for a taint that a pattern never matches; by default true for every such taint
 */
export function isProtectedByAny(
  holders: readonly Holder[],
  isRemovalAllowed: Expression,
  transient?: Expression,
): Expression {
  return any(
    holders.map(({ binds, rules, allowsRemovalByAnnotation }) =>
      all([binds.condition, isProtected(rules, transient), allowsRemovalByAnnotation ? not(isRemovalAllowed) : TRUE]),
    ),
  );
}

/** The same for taints that a policy with these rules protects. The list `allowedByAnnotation` has the announced ones. */
export function isProtectedByOthers(holders: readonly Holder[], protecting: readonly CompiledTaintRule[]): Expression {
  // A taint that the policy protects by a pattern is none that Kubernetes, autoscalers or operators set and remove.
  return isProtectedByAny(holders, isIn('allowedByAnnotation'), isTransientByName(protecting));
}
