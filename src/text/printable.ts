/** The text with control, format and surrogate characters escaped as `\u{…}`: harmless in headers and terminals. */
export function printable(text: string): string {
  // Nearly every text needs no replacement, and the check takes a tenth of the time of a replacement.
  if (/^[ -~]*$/.test(text)) return text;
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${c.codePointAt(0)?.toString(16)}}`);
}

/** The text on one line of printable characters, shortened with dots to at most `bytes` bytes of UTF-8. */
export function printableWithin(text: string, bytes: number): string {
  // Each character has at least one byte, so the rest of a longer text need not be read.
  const shown = printable(text.slice(0, bytes + 1));
  if (Buffer.byteLength(shown) <= bytes) return shown;
  const kept = Buffer.alloc(bytes - 3);
  const { written } = new TextEncoder().encodeInto(shown, kept);
  // Copied as bytes, because a slice would keep the whole text in memory.
  return `${kept.toString('utf8', 0, written)}...`;
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
