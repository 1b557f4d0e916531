import { valueAt } from '../../kubernetes/json.ts';
import { parseStoredPolicy, type TaintPolicy } from '../../policy/policy.ts';

/** A TaintPolicy that its schema allows has some 7,000 values at most, 4,200 of them in selectors: the API server refuses a larger one. */
const MAX_VALUES = 10_000;

/** The TaintPolicy of a review. Undefined for a policy of another kind, and for an invalid one, whose status reports the problems. */
export function taintPolicyIn(object: unknown): TaintPolicy | undefined {
  if (hasMoreValues(valueAt(object, ['spec']), MAX_VALUES)) return undefined;
  const { result } = parseStoredPolicy(object);
  return result.ok && result.policy.kind === 'TaintPolicy' ? result.policy : undefined;
}

function hasMoreValues(value: unknown, most: number): boolean {
  const open = [value];
  let seen = 0;
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (++seen + open.length > most) return true;
    if (typeof one !== 'object' || one === null) continue;
    for (const part of Object.values(one)) open.push(part);
  }
  return false;
}
