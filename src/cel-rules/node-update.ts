import { type Chosen, narrowest } from '../cel/budget.ts';
import { all, any, bind, cel, type Expression, FALSE, not, type Variable } from '../cel/expression.ts';
import { exists, literals } from '../cel/lists.ts';
import { oncePer } from '../collections/once-per.ts';
import { requirementsOf } from '../kubernetes/selector-overlap.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { ALLOW_REMOVAL_AFTER, ALLOW_REMOVAL_BEFORE } from './annotations.ts';
import { type Corrections, corrections, NO_CORRECTIONS } from './corrected-values.ts';
import { endsStartupTaint, leavablePolicies } from './ended-startup-taints.ts';
import { removesProtected, removesProtectedUnlessExempt, rulesOf } from './node-policies.ts';
import { keyCondition } from './protected-taints.ts';
import { IS_NODE, LABELS, LABELS_BEFORE, REQUESTER_VARIABLES } from './selection.ts';
import { lacksTaintOnSelection, settableOnSelection } from './taint-changes.ts';
import { REMOVED, TAINTS_AFTER, TAINTS_BEFORE } from './taints.ts';

/** True when the update changes the labels of the node. */
export const LABELS_CHANGE: Expression = cel(100)`${LABELS} != ${LABELS_BEFORE}`;

const VARIABLES: readonly Variable[] = [
  TAINTS_BEFORE,
  TAINTS_AFTER,
  LABELS_BEFORE,
  LABELS,
  ALLOW_REMOVAL_BEFORE,
  ALLOW_REMOVAL_AFTER,
  ...REQUESTER_VARIABLES,
];

/** The expressions about an update whose text grows with the number of policies. */
export interface UpdateExpressions {
  /** See {@link removesProtected}. */
  removesProtected(policies: readonly CompiledTaintPolicy[]): Expression;
  /** See {@link removesProtectedUnlessExempt}. */
  removesProtectedUnlessExempt(policies: readonly CompiledTaintPolicy[]): Expression;
  /** See {@link corrections}: which removed taints do not count. */
  corrections(policies: readonly CompiledTaintPolicy[]): Corrections;
  /** See {@link lacksTaintOnSelection}. With more than `size` taints, every change of labels counts. */
  lacksTaintOnSelection(policies: readonly CompiledTaintPolicy[], size: number): Expression;
  /** See {@link endsStartupTaint}. */
  endsStartupTaint(policies: readonly CompiledTaintPolicy[], size: number): Expression;
}

const lacksTaint = oncePer(lacksTaintOnSelection);

/** Several webhooks use each of them, for lists of several sizes. It is written once for the same policies. */
const EXACT: UpdateExpressions = {
  removesProtected: oncePer(removesProtected),
  removesProtectedUnlessExempt: oncePer(removesProtectedUnlessExempt),
  corrections: oncePer((policies: readonly CompiledTaintPolicy[]) => corrections(policies, rulesOf(policies))),
  lacksTaintOnSelection(policies, size) {
    const lacks = lacksTaint(policies);
    if (lacks === FALSE) return FALSE;
    return all([LABELS_CHANGE, not(IS_NODE), any([cel(2)`size(${TAINTS_AFTER}) > ${size}`, lacks])]);
  },
  endsStartupTaint: (policies, size) => all([LABELS_CHANGE, not(IS_NODE), endsStartupTaint(policies, size)]),
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

const WIDE_LABELS = {
  lacksTaintOnSelection: (policies: readonly CompiledTaintPolicy[]) =>
    selectingLabelsChange(policies.filter((policy) => settableOnSelection(policy).length > 0)),
  endsStartupTaint: (policies: readonly CompiledTaintPolicy[]) => selectingLabelsChange(leavablePolicies(policies)),
};
const WIDE_CORRECTIONS = { corrections: () => NO_CORRECTIONS };

const removesProtectedKey = oncePer((policies: readonly CompiledTaintPolicy[]) =>
  exists(REMOVED, 't', keyCondition(rulesOf(policies))),
);

/** The narrowest first. */
const CANDIDATES: readonly { readonly expressions: UpdateExpressions; readonly widened?: string }[] = [
  { expressions: EXACT },
  {
    expressions: { ...EXACT, ...WIDE_LABELS },
    widened: 'too many policies for one expression: every change of a label that they ask for matches',
  },
  {
    expressions: { ...EXACT, ...WIDE_LABELS, ...WIDE_CORRECTIONS },
    widened:
      'too many policies for one expression: every change of a label that they ask for matches, and every change of a protected value',
  },
  {
    expressions: {
      ...{ removesProtected: removesProtectedKey, removesProtectedUnlessExempt: removesProtectedKey },
      ...WIDE_LABELS,
      ...WIDE_CORRECTIONS,
    },
    widened:
      'too many policies for one expression: it reads the keys of changed taints, but neither the node nor the user',
  },
];

/** A condition on an update, from the narrowest expressions that the API server can evaluate. */
export function onUpdate(build: (expressions: UpdateExpressions, size: number) => Expression): Chosen {
  return narrowest(
    CANDIDATES.map(({ expressions, ...candidate }) => ({
      ...candidate,
      build: (size) => bind(VARIABLES, build(expressions, size)),
    })),
  );
}
