import { type Expression, literal, other } from './expression.ts';

/** The value of an annotation; empty without one. */
export function annotationOf(object: 'object' | 'oldObject', name: string): Expression {
  const annotations = `${object}.metadata.annotations`;
  const key = literal(name);
  return other(`has(${annotations}) && ${key} in ${annotations}\n  ? ${annotations}[${key}] : ""`, 20);
}
