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

/** Something that cannot mean what it should: where, what is wrong, and what is expected there. */
export interface Malformed extends Place {
  readonly message: string;
}
