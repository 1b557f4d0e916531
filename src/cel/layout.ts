/** The length above which a line is divided, in characters. */
export const LINE_LENGTH = 110;

export function inParentheses(text: string): string {
  return `(${body(text)})`;
}

/** The text for the place between parentheses: after the separator on the same line, or on lines of its own. */
export function body(text: string, separator = ''): string {
  return text.includes('\n') ? `\n  ${indented(text)}\n` : `${separator}${text}`;
}

export function indented(text: string): string {
  return text.replaceAll('\n', '\n  ');
}

/** The blanks at the beginning of the last line. */
export function indentation(text: string): string {
  return /^ */.exec(text.slice(text.lastIndexOf('\n') + 1))?.[0] ?? '';
}

/** The text without line breaks and indentation. No literal has a line break in it. */
export function onOneLine(text: string): string {
  return text.replace(/\n\s*/g, ' ');
}

/** Whether the texts together have more characters. Reads only as many texts as necessary. */
export function exceeds(texts: readonly string[], limit: number, written = (text: string) => text): boolean {
  let length = 0;
  return texts.some((text) => {
    length += written(text).length;
    return length > limit;
  });
}

/** The texts on one line. Undefined if the line would be too long, or a text has several lines. */
export function onLine(texts: readonly string[], separator: string, length: number): string | undefined {
  if (exceeds(texts, length)) return undefined;
  const line = texts.join(separator);
  return line.length <= length && !line.includes('\n') ? line : undefined;
}
