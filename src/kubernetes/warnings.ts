import { atMost } from '../text/counts.ts';
import { printable, shorten } from '../text/printable.ts';

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
