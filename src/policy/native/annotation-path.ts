import { literal } from '../cel/expression.ts';

/** Where in an object an annotation stands (RFC 6901), as a literal in CEL. */
export function pathOf(annotation: string): string {
  return literal(`/metadata/annotations/${annotation.replaceAll('~', '~0').replaceAll('/', '~1')}`);
}
