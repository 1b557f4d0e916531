import { isPattern, matchesPattern } from '../pattern.ts';
import { overlap } from '../pattern-overlap.ts';
import type { TaintRule } from '../taint-policy.ts';
import { isTransientTaintKey } from '../transient-taints.ts';

/** True unless no taint can be meant by a rule of both lists. */
export function rulesOverlap(some: readonly TaintRule[], others: readonly TaintRule[]): boolean {
  return some.some((a) =>
    others.some(
      (b) =>
        mayBeEqual(a.effect, b.effect) &&
        mayBeEqual(a.value, b.value) &&
        overlap(a.key, b.key) &&
        !isBeyondPattern(a, b) &&
        !isBeyondPattern(b, a),
    ),
  );
}

function mayBeEqual(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b;
}

/** A key that comes and goes is meant only by its name, and one that is excepted, not at all. */
function isBeyondPattern({ key }: TaintRule, { key: pattern, except = [] }: TaintRule): boolean {
  const isExcepted = () => except.some((one) => matchesPattern(one, key));
  return isPattern(pattern) && !isPattern(key) && (isTransientTaintKey(key) || isExcepted());
}
