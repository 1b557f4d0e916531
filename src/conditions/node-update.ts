import { type Chosen, narrowest } from '../cel/budget.ts';
import { all, any, bind, cel, type Expression, FALSE, literal, not, TRUE, type Variable } from '../cel/expression.ts';
import { exists, literals } from '../cel/lists.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../judge/allow-removal.ts';
import { requirementsOf } from '../kubernetes/selector-overlap.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';
import { oncePer } from '../runtime/once-per.ts';
import {
  additionRulesOf,
  addsRestricted,
  addsRestrictedUnlessExempt,
  anyPolicy,
  conditionsOf,
  removesProtected,
  removesProtectedUnlessExempt,
  rulesOf,
  unselectionRulesOf,
} from './node-policies.ts';
import { hasProtected, keyCondition, lasting } from './protected-taints.ts';
import { LABELS, LABELS_BEFORE, REQUESTER_VARIABLES } from './selection.ts';
import { ADDED, TAINTS_AFTER, TAINTS_BEFORE } from './taints.ts';

/** The value of an annotation; empty without one. */
function annotationOf(object: 'object' | 'oldObject', name: string): Expression {
  const annotations = `${object}.metadata.annotations`;
  const key = literal(name);
  return cel(20)`has(${annotations}) && ${key} in ${annotations}\n  ? ${annotations}[${key}] : ""`;
}

/** The API server limits all annotations of an object to 256 KiB. */
const COMPARISON_COST = 26_300;

/** The allow-removal annotation of the node before an update and after it. Empty if absent. */
export const ALLOW_REMOVAL_BEFORE: Variable = {
  name: 'oldAllowRemoval',
  definition: annotationOf('oldObject', ALLOW_REMOVAL_ANNOTATION),
};
export const ALLOW_REMOVAL_AFTER: Variable = {
  name: 'allowRemoval',
  definition: annotationOf('object', ALLOW_REMOVAL_ANNOTATION),
};

/** True if the update adds taints to a node with announced removals or notices: an entry may name one of them. */
export const ADDS_TO_ANNOUNCED: Expression = all([cel(4)`${ALLOW_REMOVAL_BEFORE} != ""`, cel(4)`size(${ADDED}) > 0`]);

/** A longer annotation is not parsed: it counts as having entries. */
const MAX_ALLOW_REMOVAL_LENGTH = 1_024;

/** True when the update changes the allow-removal annotation. */
export const ALLOW_REMOVAL_CHANGES: Expression = cel(
  COMPARISON_COST,
)`${ALLOW_REMOVAL_AFTER} != ${ALLOW_REMOVAL_BEFORE}`;

/** True when the update changes the labels of the node. */
export const LABELS_CHANGE: Expression = cel(100)`${LABELS} != ${LABELS_BEFORE}`;

/**
 * True if the allow-removal annotation is new and has an entry, and a policy that does not exempt the requester protects a taint of the node. An
 * annotation of white space other than blanks and line breaks counts as having an entry.
 */
function announcesRemoval(binding: readonly CompiledTaintPolicy[]): Expression {
  return all([
    ALLOW_REMOVAL_CHANGES,
    cel(
      MAX_ALLOW_REMOVAL_LENGTH / 5 + 5,
    )`(size(${ALLOW_REMOVAL_AFTER}) > ${MAX_ALLOW_REMOVAL_LENGTH} || ${ALLOW_REMOVAL_AFTER}.matches(${literal('[^,\\s]')}))`,
    anyPolicy(binding, (policy) => {
      const { selects, notExempt } = conditionsOf(policy);
      return all([selects.after, notExempt]);
    }),
  ]);
}

/**
 * True if a user whom the policy does not exempt changes the labels of a node so that the policy no longer selects it, while the node carries a taint
 * of one of the rules. With more than `size` taints, every change of labels counts.
 */
function unselection(rulesIn: (policies: readonly CompiledTaintPolicy[]) => CompiledTaintRule[]) {
  const withTaint = oncePer((policies: readonly CompiledTaintPolicy[]): Expression => {
    const selective = policies.filter((policy) => conditionsOf(policy).selects.after !== TRUE);
    const condition = anyPolicy(
      selective,
      (policy, rules) => {
        const { selects, notExempt } = conditionsOf(policy);
        return all([selects.before, not(selects.after), notExempt, hasProtected('after', rules)]);
      },
      { rules: rulesIn },
    );
    return bind([lasting('after', rulesIn(selective))], condition);
  });
  return (policies: readonly CompiledTaintPolicy[], size: number): Expression => {
    const leaving = withTaint(policies);
    if (leaving === FALSE) return FALSE;
    return all([LABELS_CHANGE, any([cel(3)`size(${TAINTS_AFTER}) > ${size}`, leaving])]);
  };
}

const VARIABLES: readonly Variable[] = [
  TAINTS_BEFORE,
  TAINTS_AFTER,
  LABELS_BEFORE,
  LABELS,
  ALLOW_REMOVAL_BEFORE,
  ALLOW_REMOVAL_AFTER,
  ...REQUESTER_VARIABLES,
];

/** The questions about an update whose text grows with the number of policies. */
export interface Questions {
  /** A removed taint is protected: see {@link removesProtected}. */
  byAnyone(policies: readonly CompiledTaintPolicy[]): Expression;
  /** The same, without policies that exempt the requester. */
  unlessExempt(policies: readonly CompiledTaintPolicy[]): Expression;
  /** The addition of a taint is restricted: see {@link addsRestricted}. */
  addsRestricted(policies: readonly CompiledTaintPolicy[]): Expression;
  /** The same, without policies that exempt the requester. */
  addsRestrictedUnlessExempt(policies: readonly CompiledTaintPolicy[]): Expression;
  /** See {@link unselection}: the node carries a taint whose removal or unselection is restricted. */
  leaves(policies: readonly CompiledTaintPolicy[], size: number): Expression;
  /** See {@link unselection}: the node carries a taint whose unselection is restricted. */
  unselects(policies: readonly CompiledTaintPolicy[], size: number): Expression;
  /** See {@link announcesRemoval}. */
  announces(binding: readonly CompiledTaintPolicy[]): Expression;
}

/** Several webhooks use each of them, for lists of several sizes. It is written once for the same policies. */
const EXACT: Questions = {
  byAnyone: oncePer(removesProtected),
  unlessExempt: oncePer(removesProtectedUnlessExempt),
  addsRestricted: oncePer(addsRestricted),
  addsRestrictedUnlessExempt: oncePer(addsRestrictedUnlessExempt),
  leaves: unselection((policies) => [...rulesOf(policies), ...unselectionRulesOf(policies)]),
  unselects: unselection(unselectionRulesOf),
  announces: oncePer(announcesRemoval),
};

/** True if a label changes by which one of the policies selects nodes. A hundred policies use only a few labels. */
function selectingLabelsChange(policies: readonly CompiledTaintPolicy[]): Expression {
  const keys = new Set(policies.flatMap(({ nodeSelector }) => requirementsOf(nodeSelector).map(({ key }) => key)));
  const possible = [...keys].filter((key) => key.isWellFormed());
  if (possible.length === 0) return FALSE;
  if (possible.length > MAX_SELECTING_LABELS) return LABELS_CHANGE;
  return cel(possible.length * 40)`${literals(possible)}.exists(k,
  k in ${LABELS} ? !(k in ${LABELS_BEFORE}) || ${LABELS}[k] != ${LABELS_BEFORE}[k] : k in ${LABELS_BEFORE})`;
}

const MAX_SELECTING_LABELS = 64;

const WIDE_LABELS = { leaves: selectingLabelsChange, unselects: selectingLabelsChange };
const WIDE_CHANGES = {
  ...WIDE_LABELS,
  announces: (binding: readonly CompiledTaintPolicy[]) => (binding.length === 0 ? FALSE : ALLOW_REMOVAL_CHANGES),
};

const removesProtectedKey = oncePer((policies: readonly CompiledTaintPolicy[]) =>
  exists('removed', 't', keyCondition(rulesOf(policies))),
);

const addsRestrictedKey = oncePer((policies: readonly CompiledTaintPolicy[]) =>
  exists('added', 't', keyCondition(additionRulesOf(policies))),
);

/** The narrowest first. */
const CANDIDATES: readonly { readonly questions: Questions; readonly widened?: string }[] = [
  { questions: EXACT },
  {
    questions: { ...EXACT, ...WIDE_LABELS },
    widened: 'too many policies for one expression: every change of a label that they ask for matches',
  },
  {
    questions: { ...EXACT, ...WIDE_CHANGES },
    widened:
      'too many policies for one expression: every change of a label that they ask for, or of the allow-removal annotation, matches',
  },
  {
    questions: {
      ...{ byAnyone: removesProtectedKey, unlessExempt: removesProtectedKey },
      ...{ addsRestricted: addsRestrictedKey, addsRestrictedUnlessExempt: addsRestrictedKey },
      ...WIDE_CHANGES,
    },
    widened:
      'too many policies for one expression: it reads the keys of changed taints, but neither the node nor the user',
  },
];

/** A condition on an update, from the narrowest questions that the API server can evaluate. */
export function onUpdate(build: (questions: Questions, size: number) => Expression): Chosen {
  return narrowest(
    CANDIDATES.map(({ questions, ...candidate }) => ({
      ...candidate,
      build: (size) => bind(VARIABLES, build(questions, size)),
    })),
  );
}
