import type { Operation } from 'fast-json-patch';

/**
 * The operations of a JSON patch (RFC 6902) that make of the list at `path`, which may be absent or null, another one. Items are
 * kept when they are the same objects, and otherwise replaced or added whole: a path never has a name in it that a requester
 * chose, such as `__proto__`, and how deep an item is does not matter.
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
  return [
    ...changes,
    ...before.slice(after.length).map((): Operation => ({ op: 'remove', path: `${path}/${after.length}` })),
  ];
}
