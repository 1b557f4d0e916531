/** How many characters {@link looksMisspelled} compares. The numbers of two such texts differ by one at most. */
export function lettersIn(text: string): number {
  return withoutSeparators(text).length;
}

function withoutSeparators(text: string): string {
  return text.toLowerCase().replace(/[-_.]/g, '');
}

/**
 * Whether two texts differ only by case and separators, by one letter that one of them lacks, or by two swapped letters. Texts that differ by
 * a replaced letter or digit are different names: `pool-a` and `pool-b`.
 */
export function looksMisspelled(one: string, other: string): boolean {
  const [first, second] = [withoutSeparators(one), withoutSeparators(other)];
  if (first === second) return true;
  const [a, b] = first.length < second.length ? [first, second] : [second, first];
  const at = [...a].findIndex((letter, index) => letter !== b[index]);
  const from = at === -1 ? a.length : at;
  if (b.length === a.length + 1) return /[a-z]/.test(b[from] ?? '') && a.slice(from) === b.slice(from + 1);
  return a[from] === b[from + 1] && a[from + 1] === b[from] && a.slice(from + 2) === b.slice(from + 2);
}
