/** Does something for each item, for so many at a time. The first failure is thrown. */
export async function forEach<Item>(
  items: readonly Item[],
  concurrency: number,
  action: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  const rest = items.entries();
  const work = async () => {
    for (const [index, item] of rest) await action(item, index);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}
