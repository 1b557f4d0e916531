import { all, any, bind, type Expression, FALSE, literal, not, other, TRUE, type Variable } from '../cel/expression.ts';
import { RELEASE_ANNOTATION } from '../judge/release.ts';
import { RESTORED_ANNOTATION } from '../judge/restored-natively.ts';
import { anyPolicy, type NodePolicy, rulesOf } from './node-policies.ts';
import { SETTLED, settledOf } from './settled.ts';
import { hasProtected, lasting } from './taints.ts';

/** The value of an annotation; empty without one. */
export function annotationOf(object: 'object' | 'oldObject', name: string): Expression {
  const annotations = `${object}.metadata.annotations`;
  const key = literal(name);
  return other(`has(${annotations}) && ${key} in ${annotations}\n  ? ${annotations}[${key}] : ""`, 20);
}

/** What native policies wrote on the node: before an update, and after it; empty for nothing. */
export const RESTORED_BEFORE: Variable = {
  name: 'oldRestored',
  definition: annotationOf('oldObject', RESTORED_ANNOTATION),
};
export const RESTORED_AFTER: Variable = { name: 'restored', definition: annotationOf('object', RESTORED_ANNOTATION) };

/** The annotations of an object have 256 KiB together. */
const COMPARISON_COST = 26_300;

/** True when a native policy has put back a taint in this very request, and wrote so on the node. */
export const RESTORES_NATIVELY: Expression = other('(restored != "" && restored != oldRestored)', COMPARISON_COST + 5, [
  'restored',
  'oldRestored',
]);

/** The release annotation of the node before an update, and after it; empty without one. */
export const RELEASE_BEFORE: Variable = {
  name: 'oldRelease',
  definition: annotationOf('oldObject', RELEASE_ANNOTATION),
};
export const RELEASE_AFTER: Variable = { name: 'release', definition: annotationOf('object', RELEASE_ANNOTATION) };

/** A longer annotation is not searched for entries: it is taken to have some. */
const MAX_RELEASE_LENGTH = 1_024;
/** True when the update changes the release annotation. */
export const RELEASE_CHANGES: Expression = other('release != oldRelease', COMPARISON_COST, ['release', 'oldRelease']);

/**
 * True when the release annotation is new, says something, and the node is held by a policy that the requester is not exempt
 * from. An annotation of white space other than a blank or a line break is taken to say something.
 */
export function announcesRelease(binding: readonly NodePolicy[]): Expression {
  return all([
    RELEASE_CHANGES,
    other(`(size(release) > ${MAX_RELEASE_LENGTH} || release.matches("[^,\\\\s]"))`, MAX_RELEASE_LENGTH / 5 + 5, [
      'release',
    ]),
    anyPolicy(binding, (policy) => all([policy.selects.labels, policy.notExempt])),
  ]);
}

/**
 * True when the node, with a protected taint on it, leaves a policy that the requester is not exempt from. With more than
 * `size` taints on it, any change of labels counts.
 */
export function leavesPolicy(policies: readonly NodePolicy[], size: number): Expression {
  const selective = policies.filter((policy) => policy.selects.labels !== TRUE);
  const leaving = anyPolicy(selective, (policy, rules) =>
    all([policy.selects.oldLabels, not(policy.selects.labels), policy.notExempt, hasProtected('after', rules)]),
  );
  if (leaving === FALSE) return FALSE;
  const lastingAfter = lasting('after', rulesOf(selective));
  const guarded = any([
    other(`size(after) > ${size}`, 3, ['after']),
    bind([lastingAfter, SETTLED, settledOf(lastingAfter.name)], leaving),
  ]);
  return all([LABELS_CHANGE, guarded]);
}

/** True when the update changes the labels of the node. */
export const LABELS_CHANGE: Expression = other('labels != oldLabels', 100, ['labels', 'oldLabels']);
