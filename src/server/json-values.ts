const COMMA = 44;
const OPENING_BRACKET = 91;
const OPENING_BRACE = 123;

/**
 * How many values JSON text has at most, counted without parsing it. What stands within strings counts, too.
 *
 * Text says little of what it takes: of `{"16":0},` V8 makes 216 bytes, so that seven megabytes fill a heap of 160 MiB.
 */
export function countValues(text: string): number {
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === COMMA || unit === OPENING_BRACKET || unit === OPENING_BRACE) values++;
  }
  return values;
}
