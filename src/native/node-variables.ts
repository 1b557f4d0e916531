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
import { ALLOW_REMOVAL_AFTER, ALLOW_REMOVAL_BEFORE } from '../cel-rules/annotations.ts';
import { corrections } from '../cel-rules/corrected-values.ts';
import { conditionsOf, rulesOf, selectsBeforeOrAfter } from '../cel-rules/node-policies.ts';
import { isProtected, isTransientByName } from '../cel-rules/protected-taints.ts';
import { LABELS, LABELS_BEFORE, REQUESTER_VARIABLES } from '../cel-rules/selection.ts';
import {
  ADDED,
  EXACT_NAME,
  FORMATTED,
  NAMES_AFTER,
  NAMES_BEFORE,
  removed,
  TAINTS_AFTER,
  TAINTS_BEFORE,
} from '../cel-rules/taints.ts';
import { MAX_ALLOW_REMOVAL_ENTRIES, MAX_ALLOW_REMOVAL_LENGTH } from '../judge/allow-removal.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';
import { groupsBy } from '../runtime/groups-by.ts';

/** The number of parts into which the annotation is divided: the last one has the rest, and names no taint. */
export const MAX_ENTRIES = MAX_ALLOW_REMOVAL_ENTRIES;

/** Cost of splitting an annotation, which can have 256 KiB, and of trimming its parts: 0.2 and 0.1 for each character, 79,000, and room for its size. */
export const SPLIT_COST = 110_000;

/** {@link parseAllowedRemovals} in CEL. */
function entriesOf(annotation: Variable): Expression {
  return cel(
    SPLIT_COST + MAX_ENTRIES * 30,
  )`size(${annotation}) > ${MAX_ALLOW_REMOVAL_LENGTH} ? [] : ${annotation}.split(",", ${MAX_ENTRIES}).map(e, e.trim())`;
}

/** The entries of the allow-removal annotation before an update, and after it. */
export const ALLOWED: Variable = { name: 'allowed', definition: entriesOf(ALLOW_REMOVAL_BEFORE) };
export const ENTRIES: Variable = { name: 'entries', definition: entriesOf(ALLOW_REMOVAL_AFTER) };

/** A policy, and all policies that are in force, with it. */
export interface AmongPolicies {
  readonly policy: CompiledTaintPolicy;
  readonly among: readonly CompiledTaintPolicy[];
}

/** What the native policies for an update use. */
export interface UpdateVariables {
  /** All of them, in the order of use. */
  readonly variables: readonly Variable[];
  readonly removed: Variable;
  /** The removed taints that the policy protects on a node that it selects, whichever user removes them. */
  readonly protectedTaints: Variable;
  /** True for a requester whom the policy exempts. */
  readonly exempt: Expression;
}

export function updateVariables({ policy, among }: AmongPolicies): UpdateVariables {
  const { variables: corrected, isCorrected } = corrections(among, policy.protectionRules);
  const removedTaints = removed(isCorrected);
  const exempt = named('exempt', not(conditionsOf(policy).notExempt));
  const protectedTaints: Variable = {
    name: 'protected',
    definition: those(removedTaints, isProtected(policy.protectionRules)),
  };
  return {
    variables: [
      TAINTS_BEFORE,
      TAINTS_AFTER,
      LABELS_BEFORE,
      LABELS,
      NAMES_AFTER,
      ...corrected,
      removedTaints,
      NAMES_BEFORE,
      ADDED,
      ...REQUESTER_VARIABLES,
      ALLOW_REMOVAL_BEFORE,
      ALLOW_REMOVAL_AFTER,
      ALLOWED,
      ENTRIES,
      ...exempt.variables,
      protectedTaints,
    ],
    removed: removedTaints,
    protectedTaints,
    exempt: exempt.condition,
  };
}

/** True for a taint `t` that an entry of the list names, with its value. */
function isNamedIn(list: Variable): Expression {
  return cel(LIST_COST + 2 * (MAX_ENTRIES + 12))`[${FORMATTED}, ${EXACT_NAME}]\n  .exists(name, name in ${list})`;
}

/** Those of the removed taints whose removal the annotation allows. */
export function allowedByAnnotation(removals: Variable): Variable {
  return { name: 'allowedByAnnotation', definition: those(removals, isNamedIn(ALLOWED)) };
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
export interface PolicyGroup {
  readonly mode: CompiledTaintPolicy['mode'];
  readonly allowsRemovalByAnnotation: boolean;
  /** True for an update of a node that they select, by a user whom they do not exempt. */
  readonly binds: NamedCondition;
  readonly rules: readonly CompiledTaintRule[];
}

export function policyGroups(policies: readonly CompiledTaintPolicy[]): PolicyGroup[] {
  const groups = groupsBy(policies, (policy) => {
    const { nodes, exempt } = conditionsOf(policy);
    return JSON.stringify([policy.mode, policy.allowsRemovalByAnnotation, nodes, exempt]);
  });
  return groups.map((alike, index) => {
    const [first] = alike;
    const binds = all([selectsBeforeOrAfter(first), conditionsOf(first).notExempt]);
    // Evaluated once, and not for each taint. The name is for the reader, and the number distinguishes equal names.
    const name = `binds${index + 1}_${first.name.replace(/[^a-z0-9]/g, '_')}`;
    return {
      mode: first.mode,
      allowsRemovalByAnnotation: first.allowsRemovalByAnnotation,
      binds: named(name, binds),
      rules: rulesOf(alike),
    };
  });
}

/**
 * True for a taint `t` that one of the groups keeps: it does not exempt the requester, and does not allow the removal.
 *
 * @param protecting the rules by which another policy protects the taint
 * @param allowed the taints whose removal the annotation allows
 */
export function isProtectedByOthers(
  groups: readonly PolicyGroup[],
  protecting: readonly CompiledTaintRule[],
  allowed: Variable,
): Expression {
  // A taint that the policy protects by a pattern is none that Kubernetes, autoscalers or operators set and remove.
  const transient = isTransientByName(protecting);
  return any(
    groups.map(({ binds, rules, allowsRemovalByAnnotation }) =>
      all([binds.condition, isProtected(rules, transient), allowsRemovalByAnnotation ? not(isIn(allowed)) : TRUE]),
    ),
  );
}
