import type { OptionalRight } from '../policy/required-rights.ts';
import type { Source } from '../runtime/source.ts';

/** The rights that only some installations give to the leader. */
export interface Rights {
  /** Undefined until the API server has answered. The first call for a right causes a check. */
  permits(right: OptionalRight): boolean | undefined;
  readonly changes: Source;
}
