/** A part of a text. */
export interface TextPart {
  readonly text: string;
  /** Where it begins, in UTF-16 units. */
  readonly offset: number;
  /** Whether it is one JSON value. */
  readonly isJson: boolean;
}

/**
 * Splits a text with several JSON objects in a row, as `jq` and `talosctl get -o json` write them. What follows the last object is a part of its own,
 * which is YAML. A text that does not begin with an object, or in which nothing follows the first one, is one part. kubectl reads files like this
 * (YAMLOrJSONDecoder of k8s.io/apimachinery/pkg/util/yaml).
 */
export function splitJsonStream(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let start = contentFrom(text, 0);
  while (text[start] === '{') {
    const end = endOfObject(text, start);
    const isWhole = end !== undefined && parts.length === 0 && contentFrom(text, end) === text.length;
    if (end === undefined || isWhole || !isJson(text.slice(start, end))) break;
    parts.push({ text: text.slice(start, end), offset: start, isJson: true });
    start = contentFrom(text, end);
  }
  const offset = parts.length === 0 ? 0 : start;
  return offset === text.length && offset > 0 ? parts : [...parts, { text: text.slice(offset), offset, isJson: false }];
}

/** The first character from `start` on that is no white space of JSON; the end of the text if there is none. */
function contentFrom(text: string, start: number): number {
  let at = start;
  while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at += 1;
  return at;
}

/** The end of the object that begins at `start`: its brackets are balanced, apart from those in strings. */
function endOfObject(text: string, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}

/** The closing quote of the string that begins at `start`; the end of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at;
  }
  return text.length;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
