import { ROLE_TAINT_KEYS } from './roles.ts';
import { REPELLING_EFFECTS } from './taint.ts';
import type { Toleration, tolerates } from './toleration.ts';

/** Taints of one effect that a toleration can match. */
export interface TaintRange {
  /** Undefined: every key. */
  readonly key: string | undefined;
  /** Undefined: any value. The empty text: the taint without a value. */
  readonly value: string | undefined;
  readonly effect: (typeof REPELLING_EFFECTS)[number];
}

/** By convention, these taints have no value, so `Exists` matches them, and so does `Equal` without a value. */
const WITHOUT_VALUE: readonly string[] = ROLE_TAINT_KEYS;

/** The taints that a toleration matches and that can keep a daemon off a node: none for PreferNoSchedule. */
export function rangesOf({ key, operator, value, effect }: Toleration): TaintRange[] {
  const any = operator === 'Exists' && !(key && WITHOUT_VALUE.includes(key));
  return REPELLING_EFFECTS.filter((one) => !effect || one === effect).map((one) => ({
    key: key || undefined,
    value: any ? undefined : (value ?? ''),
    effect: one,
  }));
}

export function contains(range: TaintRange, other: TaintRange): boolean {
  return (
    range.effect === other.effect &&
    (range.key === undefined || range.key === other.key) &&
    (range.value === undefined || range.value === other.value)
  );
}

/**
 * True if a toleration tolerates every taint of the range, for any time. Several tolerations cover a range only if one of them covers it alone,
 * because the sets of all keys and values are infinite.
 */
export function covers(toleration: Toleration, range: TaintRange): boolean {
  return (
    reaches(toleration, range) &&
    (!toleration.key || toleration.key === range.key) &&
    (toleration.operator === 'Exists' || (toleration.value ?? '') === range.value)
  );
}

/** True if the toleration tolerates some taint of the range: {@link tolerates} for many. */
export function reaches({ key, operator, value, effect }: Toleration, range: TaintRange): boolean {
  if (effect && effect !== range.effect) return false;
  if (key && range.key !== undefined && key !== range.key) return false;
  if (operator === 'Exists') return true;
  const isEqual = !operator || operator === 'Equal';
  return isEqual && Boolean(key) && (range.value === undefined || range.value === (value ?? ''));
}
