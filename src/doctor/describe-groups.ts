import { groupsBy } from '../collections/groups-by.ts';

/** Describes items with the same trait together: `a, b are late; c is early`. */
export function describeGroups<T>(
  items: readonly T[],
  trait: (item: T) => string,
  describe: (group: [T, ...T[]]) => string,
): string {
  return groupsBy(items, trait).map(describe).join('; ');
}
