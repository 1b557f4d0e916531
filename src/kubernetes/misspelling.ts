/** The characters of a text that {@link looksMisspelled} compares. The numbers of two such texts differ by one at most. */
export function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[-_.]/g, '');
}

/**
 * Whether two texts differ only by case and separators, by one letter that one of them lacks, or by two swapped letters. Texts that differ by
 * a replaced letter or digit are different names: `pool-a` and `pool-b`.
 * @param first its {@link lettersOf}
 * @param second its {@link lettersOf}
 */
export function looksMisspelled(first: string, second: string): boolean {
  if (first === second) return true;
  const [a, b] = first.length < second.length ? [first, second] : [second, first];
  let from = 0;
  while (from < a.length && a.charCodeAt(from) === b.charCodeAt(from)) from++;
  if (b.length === a.length + 1) return /[a-z]/.test(b[from] ?? '') && a.slice(from) === b.slice(from + 1);
  return a[from] === b[from + 1] && a[from + 1] === b[from] && a.slice(from + 2) === b.slice(from + 2);
}
