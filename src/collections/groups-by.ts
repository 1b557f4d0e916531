/** The items in groups with the same key. `Map.groupBy` makes no empty group. */
export function groupsBy<Item>(items: readonly Item[], keyOf: (item: Item) => unknown): [Item, ...Item[]][] {
  return [...Map.groupBy(items, keyOf).values()] as [Item, ...Item[]][];
}
