/** True when `text` holds the only wildcard there is, `*`. */
export function isPattern(text: string): boolean {
  return text.includes('*');
}

/**
 * True when `text` matches `pattern`, in which `*` stands for any run of characters, the empty one included; everything
 * else stands for itself. Takes time linear in `text` for each part of the pattern, whatever an author writes.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  return compilePattern(pattern)(text);
}

/** {@link matchesPattern} for a pattern that many texts are tried against: it is taken apart once. */
export function compilePattern(pattern: string): (text: string) => boolean {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return (text) => pattern === text;
  return (text) => {
    if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return false;

    let from = head.length;
    const end = text.length - tail.length;
    for (const part of rest) {
      const at = text.indexOf(part, from);
      if (at === -1 || at + part.length > end) return false;
      from = at + part.length;
    }
    return true;
  };
}
