import { isPattern, matchesPattern, patternsOverlap } from '../kubernetes/pattern.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { TaintRule } from './taint-rule.ts';

/** True unless no taint can match a rule of both lists. */
export function rulesOverlap(some: readonly TaintRule[], others: readonly TaintRule[]): boolean {
  return some.some((a) =>
    others.some(
      (b) =>
        mayBeEqual(a.effect, b.effect) &&
        mayBeEqual(a.value, b.value) &&
        patternsOverlap(a.key, b.key) &&
        !isBeyondPattern(a, b) &&
        !isBeyondPattern(b, a),
    ),
  );
}

function mayBeEqual(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b;
}

/** A pattern matches neither taints that Kubernetes, autoscalers or operators set and remove, nor excepted ones. */
function isBeyondPattern({ key }: TaintRule, { key: pattern, except = [] }: TaintRule): boolean {
  const isExcepted = () => except.some((one) => matchesPattern(one, key));
  return isPattern(pattern) && !isPattern(key) && (isTransientTaintKey(key) || isExcepted());
}
