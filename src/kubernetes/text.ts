/** Longest warning, in characters: kubectl and the API server cut off longer ones (admission/v1, `warnings`). */
export const WARNING_MAX_LENGTH = 120;

/** The most warnings of an answer. If there are more, the last one counts the rest: all share a header budget of 4 KiB. */
export const MAX_WARNINGS = 16;

/**
 * Warnings for an answer: each on one line of printable characters within the limit, a limited number, and none twice.
 * The text may contain names that are not validated yet: mutation runs before the API server's own checks.
 */
export function presentableWarnings(texts: readonly string[]): string[] {
  return atMost(MAX_WARNINGS, [...new Set(texts.map(printable))]).map((text) => shorten(text, WARNING_MAX_LENGTH));
}

/** The texts, at most `count`. If there are more, the last one counts the rest. */
export function atMost(count: number, texts: readonly string[]): string[] {
  if (texts.length <= count) return [...texts];
  return [...texts.slice(0, count - 1), `and ${texts.length - count + 1} more`];
}

/** The first items whose costs together are at most `most`. No item after one that does not fit is kept. */
export function withinBudget<Item>(items: readonly Item[], most: number, costOf: (item: Item) => number): Item[] {
  let left = most;
  return items.filter((item) => {
    left -= costOf(item);
    return left >= 0;
  });
}

/** `1 node`, `3 nodes`. */
export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** `5,000`. */
export function groupedNumber(value: number): string {
  return value.toLocaleString('en');
}

/** `nodes/n1`, `daemonsets/kube-system/flannel`. A part that is undefined is left out. */
export function objectTitle({ resource, namespace, name }: TitledObject): string {
  return [resource, namespace, name].filter((part) => part !== undefined).join('/');
}

interface TitledObject {
  /** Plural, such as `nodes`. */
  readonly resource: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** The text with control, format and surrogate characters escaped as `\u{…}`: harmless in headers and terminals. */
export function printable(text: string): string {
  // Nearly every text needs no replacement, and the check takes a tenth of the time of a replacement.
  if (/^[ -~]*$/.test(text)) return text;
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${c.codePointAt(0)?.toString(16)}}`);
}

/** A word of a shell command without special meaning, because names come from objects. Quoted only if necessary. */
export function shellWord(text: string): string {
  return /^[\w.:/=,@-]+$/.test(text) ? text : `'${printable(text).replaceAll("'", "'\\''")}'`;
}

/** The text, or its beginning with dots, within `length` ASCII characters, for HTTP headers. */
export function shorten(text: string, length: number): string {
  // Counts UTF-16 units, of which a character has one or two.
  if (text.length <= length) return text;
  const characters = [...text.slice(0, 2 * length + 2)];
  return characters.length <= length ? text : `${characters.slice(0, length - 3).join('')}...`;
}
