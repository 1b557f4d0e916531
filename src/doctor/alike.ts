/** Those of whom the same is to be said, said once: `a, b are late; c is early`. In the order of the first of each. */
export function alike<T>(items: readonly T[], trait: (item: T) => string, say: (group: [T, ...T[]]) => string): string {
  return [...Map.groupBy(items, trait).values()].map((group) => say(group as [T, ...T[]])).join('; ');
}
