import { isPattern, matchesPattern } from './pattern.ts';

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
