/** The first items whose costs together are at most `most`. No item after one that does not fit is kept. */
export function withinBudget<Item>(items: readonly Item[], most: number, costOf: (item: Item) => number): Item[] {
  let left = most;
  return items.filter((item) => {
    left -= costOf(item);
    return left >= 0;
  });
}
