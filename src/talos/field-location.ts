import type { SourceDocument } from '../files/documents.ts';
import type { Path } from '../policy/problem.ts';

/** A place in a machine configuration or a patch of one. */
export interface FieldLocation {
  readonly document: SourceDocument;
  readonly path: Path;
}

/** The place of an entry of a mapping or an item of a list. */
export function below({ document, path }: FieldLocation, key: string | number): FieldLocation {
  return { document, path: [...path, key] };
}

/** A value, and its place in the files. */
export interface Located<T> extends FieldLocation {
  readonly value: T;
}

/** A part of a configuration that cannot be used: an invalid taint, label, annotation or type of machine, or a tab in the indentation. */
export interface Malformed extends FieldLocation {
  readonly problem: string;
  /** The expected form. */
  readonly expected: string;
  /** Both, in one sentence. */
  readonly message: string;
}

export function malformed({ document, path }: FieldLocation, problem: string, expected: string): Malformed {
  return { document, path, problem, expected, message: `${problem}: expected ${expected}` };
}
