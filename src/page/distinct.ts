/** Distinct items, to which rows refer by index. */
export interface Distinct<T> {
  readonly list: readonly T[];
  /** Adds the item, unless the list has an equal one. @returns the one in the list, with its index */
  add(item: T): { readonly item: T; readonly index: number };
}

export function collectDistinct<T>(): Distinct<T> {
  const list: T[] = [];
  const known = new Map<string, ReturnType<Distinct<T>['add']>>();
  return {
    list,
    add(item) {
      const key = JSON.stringify(item);
      const entry = known.get(key) ?? { item, index: list.push(item) - 1 };
      known.set(key, entry);
      return entry;
    },
  };
}
