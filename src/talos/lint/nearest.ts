/** The nearest known name: it differs by two typing errors at most, or by case only. */
export function nearest(name: string, names: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.min(3, name.length - 1);
  for (const candidate of names) {
    const distance = candidate.toLowerCase() === name.toLowerCase() ? 0 : typingErrors(name, candidate);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Levenshtein's distance: how many characters to add, remove or replace. Infinity if the lengths differ by more than 2. */
function typingErrors(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return Infinity;
  let before = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (before[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (before[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    before = row;
  }
  return before[b.length] ?? Infinity;
}
