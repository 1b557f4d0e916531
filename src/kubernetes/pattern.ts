/** True if `text` contains `*`, the only wildcard. */
export function isPattern(text: string): boolean {
  return text.includes('*');
}

/**
 * True if `text` matches `pattern`, in which `*` stands for any characters, also none, and everything else for itself. The time is linear in `text`
 * for each part of the pattern, for every pattern.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  return compilePattern(pattern)(text);
}

/** {@link matchesPattern} for a pattern that is compared with many texts: it is split once. */
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

/** True if some text matches both patterns, in which `*` stands for any characters. */
export function patternsOverlap(a: string, b: string): boolean {
  if (!isPattern(a)) return matchesPattern(b, a);
  if (!isPattern(b)) return matchesPattern(a, b);
  // The parts between the first and the last star can follow each other in one text: only the ends can contradict each other.
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

/** Whether a text matches one of the patterns. */
export function matcherOfAny(patterns: readonly string[]): (text: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !isPattern(pattern)));
  const matchers = patterns.filter(isPattern).map(compilePattern);
  return (text) => exact.has(text) || matchers.some((matches) => matches(text));
}
