/** The time as Kubernetes' MicroTime (meta/v1) is written: always six digits, of which ours has three. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

/** Longest warning, in characters: kubectl and the API server cut off longer ones (admission/v1, `warnings`). */
export const WARNING_MAX_LENGTH = 120;

/** More than this many in one answer are summed up in a last one: together they share a 4 KiB header budget. */
const MAX_WARNINGS = 16;

/**
 * Warnings fit for an answer: each on one line of printable characters within the bound, not too many, none twice.
 * The text may hold names that nobody has validated yet: mutation runs before the API server's own checks.
 */
export function presentableWarnings(texts: readonly string[]): string[] {
  return atMost(MAX_WARNINGS, [...new Set(texts.map(printable))]).map((text) => shorten(text, WARNING_MAX_LENGTH));
}

/** The texts, or as many of them as leave room for one that says how many are left out. */
export function atMost(count: number, texts: readonly string[]): string[] {
  if (texts.length <= count) return [...texts];
  return [...texts.slice(0, count - 1), `and ${texts.length - count + 1} more`];
}

/** `1 node`, `3 nodes`. */
export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** The text with control, format and surrogate characters spelled out as `\u{…}`: harmless in headers and terminals. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${c.codePointAt(0)?.toString(16)}}`);
}

/** A word of a shell command that means nothing but itself: names come from objects. Only what needs quotes has them. */
export function shellWord(text: string): string {
  return /^[\w.:/=,@-]+$/.test(text) ? text : `'${printable(text).replaceAll("'", "'\\''")}'`;
}

/** The text, or as much of it as fits in `length` characters with dots at the end: ASCII, for HTTP headers. */
function shorten(text: string, length: number): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 3).join('')}...`;
}
