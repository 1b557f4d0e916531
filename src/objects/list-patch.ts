import type { Operation } from '../kubernetes/json-patch.ts';

/** More changes of one list are one operation, because a removal at its beginning moves all later items. */
const MAX_OPERATIONS = 256;

/**
 * The operations of a JSON patch (RFC 6902) that change the list at `path`, which may be absent or null, into another one. Items that are the same
 * objects stay. Others are replaced or added whole, so a path never contains a name that a requester chose, such as `__proto__`, and the depth of an
 * item has no effect.
 */
export function listPatch(
  path: string,
  before: readonly unknown[] | null | undefined,
  after: readonly unknown[],
): Operation[] {
  if (!before) return [{ op: before === null ? 'replace' : 'add', path, value: after }];
  const changes = after.flatMap((value, index): Operation[] =>
    value === before[index] ? [] : [{ op: index < before.length ? 'replace' : 'add', path: `${path}/${index}`, value }],
  );
  if (changes.length + Math.max(0, before.length - after.length) > MAX_OPERATIONS) {
    return [{ op: 'replace', path, value: after }];
  }
  return [
    ...changes,
    ...before.slice(after.length).map((): Operation => ({ op: 'remove', path: `${path}/${after.length}` })),
  ];
}
