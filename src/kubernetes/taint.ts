/** A taint in a Node's `spec.taints` (core/v1). Unknown fields are kept unchanged. */
export interface Taint {
  readonly key: string;
  /** Absent, null and empty are the same: a taint without a value. */
  readonly value?: string | null | undefined;
  /** Any string: a newer API server may know effects that this program does not. */
  readonly effect: string;
  /** When it was added (RFC 3339), if the writer says so. Policies ignore it. */
  readonly timeAdded?: string | null | undefined;
}

/** The effects of core/v1. */
export const TAINT_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

/** The effects that keep pods of DaemonSets off nodes. The scheduler only weighs PreferNoSchedule. */
export const REPELLING_EFFECTS = ['NoSchedule', 'NoExecute'] as const;

/** Whether the taint keeps pods of DaemonSets off nodes. */
export function repels({ effect }: Pick<Taint, 'effect'>): boolean {
  return REPELLING_EFFECTS.some((repelling) => repelling === effect);
}

/** True if both are the same taint: the API server allows one of each key and effect on a node (ValidateNodeUpdate). */
export function sameTaint(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect;
}

/** True for the same taint with the same value. */
export function equalTaints(a: Taint, b: Taint): boolean {
  return sameTaint(a, b) && (a.value ?? '') === (b.value ?? '');
}

/** The taints of one list that the other one does not have with the same value: of two versions of a Node, the removed ones or the added ones. */
export function taintsOnlyIn(taints: readonly Taint[], others: readonly Taint[]): Taint[] {
  if (taints.length === 0) return [];
  const [compared, otherOnes] = taints.length > MANY ? withoutEqualEnds(taints, others) : [taints, others];
  const otherValues = valuesOf(otherOnes);
  return compared.filter((taint) => otherValues.get(taintIdentity(taint)) !== (taint.value ?? ''));
}

/** Longer lists are compared without their equal ends, which takes less time. */
const MANY = 256;

/**
 * The lists without their common beginning and end. They contain the same removed taints as the whole lists, unless a taint is listed twice, which the
 * API server refuses.
 */
export function withoutEqualEnds(
  before: readonly Taint[],
  after: readonly Taint[],
): readonly [before: readonly Taint[], after: readonly Taint[]] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && isCopy(before[start], after[start])) start++;
  let end = 0;
  while (end < shorter - start && isCopy(before.at(-1 - end), after.at(-1 - end))) end++;
  return [before.slice(start, before.length - end), after.slice(start, after.length - end)];
}

/** Whether both have the same bytes. */
function isCopy(a: Taint | undefined, b: Taint | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  return a.key === b.key && a.effect === b.effect && a.value === b.value && a.timeAdded === b.timeAdded;
}

/** The values of taints by their {@link taintIdentity}. Empty for a taint without one. */
export function valuesOf(taints: readonly Taint[]): ReadonlyMap<string, string> {
  return new Map(taints.map((taint) => [taintIdentity(taint), taint.value ?? '']));
}

/**
 * {@link valuesOf} only the taints with a key of `wanted`. A node can have tens of thousands of others, and a review waits for the result.
 */
export function valuesAmong(
  taints: readonly Taint[],
  wanted: readonly Pick<Taint, 'key'>[],
): ReadonlyMap<string, string> {
  const keys = new Set(wanted.map(({ key }) => key));
  return valuesOf(taints.filter(({ key }) => keys.has(key)));
}

/**
 * `taints` with all `additions`. Each replaces the taint of the same key and effect, or is added at the end.
 * The order of `taints` is kept.
 */
export function withTaints(taints: readonly Taint[], additions: readonly Taint[]): Taint[] {
  if (additions.length === 0) return [...taints];
  const missing = new Map(additions.map((taint) => [taintIdentity(taint), taint]));
  const keys = new Set(additions.map(({ key }) => key));
  const result = taints.map((taint) => {
    if (!keys.has(taint.key)) return taint;
    const replacement = missing.get(taintIdentity(taint));
    missing.delete(taintIdentity(taint));
    return replacement ?? taint;
  });
  return [...result, ...missing.values()];
}

/**
 * The identity of a taint on a node, for maps: a node can have tens of thousands of taints. Effects have no colon, so two different taints never have
 * the same identity, even if a key is not validated yet.
 */
export function taintIdentity({ key, effect }: Pick<Taint, 'key' | 'effect'>): string {
  return `${effect}:${key}`;
}

const TAINT = new RegExp(`^([^\\s=:]+)(?:=([^\\s=:]*))?:(${TAINT_EFFECTS.join('|')})$`);

/** Reads the result of {@link formatTaint}: one of the known effects. `value` is undefined if there is no `=`. */
export function parseTaint(
  text: string,
): { readonly key: string; readonly value: string | undefined; readonly effect: string } | undefined {
  const [, key, value, effect] = TAINT.exec(text) ?? [];
  return key && effect ? { key, value, effect } : undefined;
}

/** `key=value:Effect`, or `key:Effect` without a value, as kubectl writes taints. */
export function formatTaint({ key, value, effect }: Omit<Taint, 'timeAdded'>): string {
  return value ? `${key}=${value}:${effect}` : `${key}:${effect}`;
}
