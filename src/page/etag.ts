import { createHash } from 'node:crypto';

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** A strong entity tag (RFC 9110, section 8.8.3) of a text. */
export function etagOf(text: string): string {
  return `"${digestOf(text)}"`;
}
