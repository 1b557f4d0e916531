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

/** True when some text matches both patterns, in which `*` stands for any run of characters. */
export function overlap(a: string, b: string): boolean {
  if (!isPattern(a)) return matchesPattern(b, a);
  if (!isPattern(b)) return matchesPattern(a, b);
  // What stands between the first and the last star can follow each other in one text: only its ends can be at odds.
  const [headA, headB] = [head(a), head(b)];
  const [tailA, tailB] = [tail(a), tail(b)];
  return (headA.startsWith(headB) || headB.startsWith(headA)) && (tailA.endsWith(tailB) || tailB.endsWith(tailA));
}

function head(pattern: string): string {
  return pattern.slice(0, pattern.indexOf('*'));
}

function tail(pattern: string): string {
  return pattern.slice(pattern.lastIndexOf('*') + 1);
}
