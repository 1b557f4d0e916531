/** Distinct items, to which rows refer by index. */
export interface Distinct<T> {
  readonly list: readonly T[];
  /** Equal items have the same index. */
  indexOf(item: T): number;
}

export function collectDistinct<T>(): Distinct<T> {
  const list: T[] = [];
  const known = new Map<string, number>();
  return {
    list,
    indexOf(item) {
      const key = JSON.stringify(item);
      const index = known.get(key) ?? list.push(item) - 1;
      known.set(key, index);
      return index;
    },
  };
}
