import { type PolicyResult, parsePolicy, unknownFields } from './policy.ts';
import type { Path } from './problem.ts';

/** What became of a policy that the API server holds. */
export interface StoredPolicy {
  readonly result: PolicyResult;
  /** Fields that this version does not know. The result is as if they were not there. */
  readonly ignored: readonly Path[];
}

/**
 * Reads a policy as the API server holds it. Its definition may be newer than this program, or older: a field that is not known
 * takes no policy out of force. In files it is an error, because there it is a slip of the pen (see {@link parsePolicy}).
 */
export function parseStoredPolicy(value: unknown): StoredPolicy {
  const ignored = unknownFields(value);
  return { result: parsePolicy(ignored.length === 0 ? value : without(value, ignored)), ignored };
}

function without(value: unknown, fields: readonly Path[]): unknown {
  const copy = structuredClone(value);
  for (const path of fields) {
    const parent = path.slice(0, -1).reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], copy);
    delete (parent as Record<string, unknown>)[path.at(-1) as string];
  }
  return copy;
}
