import { taintRemovalReview } from '../reviews.ts';

/** A list in a list in a list, `levels` deep, as JSON text: too deep for JSON.stringify. */
export const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

/** The text of a value in which the string "HERE" is replaced by other JSON text. */
export const withJson = (value: unknown, json: string) => JSON.stringify(value).replace('"HERE"', json);

/** A review whose text is `bytes` long. */
export function reviewOfSize(bytes: number): string {
  const text = withJson(taintRemovalReview({ options: 'HERE' }), '""');
  return withJson(taintRemovalReview({ options: 'HERE' }), `"${'x'.repeat(bytes - text.length)}"`);
}
