import { ok } from 'node:assert/strict';

/** Fails for characters that a terminal or a log reader may take for anything but text, as src/text/printable.ts escapes them. */
export function printable(text: string, what: string): void {
  ok(!/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(text), `${what} holds control characters: ${JSON.stringify(text)}`);
}
