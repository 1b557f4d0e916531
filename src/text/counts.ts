/** `1 node`, `3 nodes`. */
export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** `5,000`. */
export function groupedNumber(value: number): string {
  return value.toLocaleString('en');
}

/** `1 node`, `5,000 nodes`. */
export function groupedCount(value: number, what: string): string {
  return count(value, what).replace(String(value), groupedNumber(value));
}

/** The texts, at most `most`. If there are more, the last one counts the rest. */
export function atMost(most: number, texts: readonly string[]): string[] {
  if (texts.length <= most) return [...texts];
  return [...texts.slice(0, most - 1), `and ${texts.length - most + 1} more`];
}
