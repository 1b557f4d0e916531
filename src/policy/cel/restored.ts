import { RESTORED_ANNOTATION } from '../native/restored-annotation.ts';
import { annotationOf } from './annotations.ts';
import { type Expression, other, type Variable } from './expression.ts';

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
