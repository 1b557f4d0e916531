import { all, cel, type Expression, literal, type Variable } from '../cel/expression.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../judge/allow-removal.ts';
import { STARTUP_BOOT_ANNOTATION } from '../judge/node-boot.ts';
import { ADDED } from './taints.ts';

/** The value of an annotation; empty without one. */
export function annotationOf(object: 'object' | 'oldObject', name: string): Expression {
  const annotations = `${object}.metadata.annotations`;
  const key = literal(name);
  return cel(20)`has(${annotations}) && ${key} in ${annotations}\n  ? ${annotations}[${key}] : ""`;
}

/** What it costs to compare an annotation. The API server limits all annotations of an object to 256 KiB. */
export const ANNOTATION_COMPARISON_COST = 26_300;

/** The allow-removal annotation of the node before an update and after it. Empty if absent. */
export const ALLOW_REMOVAL_BEFORE: Variable = {
  name: 'oldAllowRemoval',
  definition: annotationOf('oldObject', ALLOW_REMOVAL_ANNOTATION),
};
export const ALLOW_REMOVAL_AFTER: Variable = {
  name: 'allowRemoval',
  definition: annotationOf('object', ALLOW_REMOVAL_ANNOTATION),
};

/** The annotation with the boot of the node, after the request. Empty if absent. */
export const STARTUP_BOOT: Variable = {
  name: 'startupBoot',
  definition: annotationOf('object', STARTUP_BOOT_ANNOTATION),
};

/** True for a node that registers with an allow-removal annotation. */
export const ALLOWS_ITSELF: Expression = cel(
  60,
)`(has(object.metadata.annotations) && ${literal(ALLOW_REMOVAL_ANNOTATION)} in object.metadata.annotations)`;

/** True if the update adds a taint to a node whose annotation lists some: an entry may name it, and ends then. */
export const ADDS_TO_ALLOWED: Expression = all([cel(3)`${ALLOW_REMOVAL_AFTER} != ""`, cel(3)`size(${ADDED}) > 0`]);

/** True when the update changes the allow-removal annotation. */
export const ALLOW_REMOVAL_CHANGES: Expression = cel(
  ANNOTATION_COMPARISON_COST,
)`${ALLOW_REMOVAL_AFTER} != ${ALLOW_REMOVAL_BEFORE}`;
