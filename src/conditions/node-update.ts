import { type Chosen, narrowest } from '../cel/budget.ts';
import { any, bind, type Expression, exists, FALSE, type Variable } from '../cel/expression.ts';
import { keyCondition } from './dropped-taints.ts';
import {
  atOnce,
  carriesProtected,
  dropsProtected,
  dropsProtectedUnlessExempt,
  type NodePolicy,
  rulesOf,
} from './node-policies.ts';
import {
  announcesRelease,
  LABELS_CHANGE,
  leavesPolicy,
  RELEASE_AFTER,
  RELEASE_BEFORE,
  RELEASE_CHANGES,
  RESTORED_AFTER,
  RESTORED_BEFORE,
} from './protection-changes.ts';
import { LABELS, LABELS_BEFORE, REQUESTER_VARIABLES } from './selection.ts';
import { settledName } from './settled.ts';
import { TAINTS_AFTER, TAINTS_BEFORE } from './taints.ts';

const VARIABLES: readonly Variable[] = [
  TAINTS_BEFORE,
  TAINTS_AFTER,
  LABELS_BEFORE,
  LABELS,
  RELEASE_BEFORE,
  RELEASE_AFTER,
  RESTORED_BEFORE,
  RESTORED_AFTER,
  ...REQUESTER_VARIABLES,
];

/** The questions about an update that take as much text as there are policies. */
export interface Questions {
  /** A dropped taint is protected: see {@link dropsProtected}. */
  byAnyone(policies: readonly NodePolicy[]): Expression;
  /** The same, by somebody whom the policy does not exempt. */
  unlessExempt(policies: readonly NodePolicy[]): Expression;
  /** An added taint is protected: see {@link carriesProtected}. */
  adds(policies: readonly NodePolicy[]): Expression;
  /** See {@link leavesPolicy}. */
  leaves(policies: readonly NodePolicy[], size: number): Expression;
  /** See {@link announcesRelease}. */
  announces(binding: readonly NodePolicy[]): Expression;
}

const EXACT: Questions = {
  byAnyone: dropsProtected,
  unlessExempt: dropsProtectedUnlessExempt,
  adds: (policies) => carriesProtected('added', policies),
  leaves: leavesPolicy,
  announces: announcesRelease,
};

const WIDE_CHANGES = {
  leaves: (policies: readonly NodePolicy[]) => (policies.length === 0 ? FALSE : LABELS_CHANGE),
  announces: (binding: readonly NodePolicy[]) => (binding.length === 0 ? FALSE : RELEASE_CHANGES),
};

function dropsKey(policies: readonly NodePolicy[]): Expression {
  const rules = rulesOf(policies);
  const waiting = rules.filter(({ waits }) => waits);
  return any([
    exists('dropped', 't', keyCondition(atOnce(rules))),
    exists(settledName('lastingDropped'), 't', keyCondition(waiting)),
  ]);
}

function addsKey(policies: readonly NodePolicy[]): Expression {
  return exists('added', 't', keyCondition(atOnce(rulesOf(policies))));
}

/** The narrowest first. */
const CANDIDATES: readonly { readonly questions: Questions; readonly widened?: string }[] = [
  { questions: EXACT },
  {
    questions: { ...EXACT, ...WIDE_CHANGES },
    widened: 'too many policies for one expression: every change of labels or of the release annotation matches',
  },
  {
    questions: {
      byAnyone: dropsKey,
      unlessExempt: dropsKey,
      adds: addsKey,
      ...WIDE_CHANGES,
    },
    widened:
      'too many policies for one expression: the keys of changed taints are looked at, not the node nor the user',
  },
];

/** A condition on an update, made of the narrowest questions that the API server can evaluate. */
export function onUpdate(build: (questions: Questions, size: number) => Expression): Chosen {
  return narrowest(
    CANDIDATES.map(({ questions, ...candidate }) => ({
      ...candidate,
      build: (size) => bind(VARIABLES, build(questions, size)),
    })),
  );
}
