/** Describes items with the same trait together: `a, b are late; c is early`. */
export function describeGroups<T>(
  items: readonly T[],
  trait: (item: T) => string,
  describe: (group: [T, ...T[]]) => string,
): string {
  return [...Map.groupBy(items, trait).values()].map((group) => describe(group as [T, ...T[]])).join('; ');
}
