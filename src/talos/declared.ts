import type { SourceDocument } from '../files/documents.ts';
import type { Path } from '../policy/problem.ts';

/** A place in a machine configuration or a patch of one. */
export interface Place {
  readonly document: SourceDocument;
  readonly path: Path;
}

/** A value, and where in the files it stands. */
export interface Declared<T> extends Place {
  readonly value: T;
}

/** A taint or a label that cannot be read. */
export interface Malformed extends Place {
  readonly subject: 'taint' | 'label';
  readonly problem: string;
  /** How it is written. */
  readonly expected: string;
  /** Both, in one sentence. */
  readonly message: string;
}

export function malformed(
  subject: Malformed['subject'],
  { document, path }: Place,
  problem: string,
  expected: string,
): Malformed {
  return { subject, document, path, problem, expected, message: `${problem}: expected ${expected}` };
}
