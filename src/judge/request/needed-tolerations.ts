import { outlastsItsSeconds } from '../../kubernetes/daemon-tolerations.ts';
import { contains, covers, rangesOf, reaches, type TaintRange } from '../../kubernetes/taint-range.ts';
import { secondsOf, type Toleration } from '../../kubernetes/toleration.ts';

export interface RequiredToleration {
  readonly toleration: Toleration;
  /** If two tolerations cover the same taints, the one with the lower rank comes first. */
  readonly rank: number;
}

/** A required toleration, and the ranges of taints that no toleration before it covers. There is at least one range. */
export interface Need<T extends RequiredToleration> {
  readonly required: T;
  readonly ranges: readonly TaintRange[];
}

/**
 * Sorts by rank, then by time, the longest first, because Kubernetes applies the first toleration that matches, then by width, the
 * widest first. Within a rank, no toleration then covers a different one before it, so the result does not depend on the names of
 * policies. Equal tolerations keep their order.
 */
export function inOrder<T extends RequiredToleration>(required: readonly T[]): T[] {
  return (
    required
      .map((one) => ({ one, rank: one.rank, seconds: secondsOf(one.toleration), width: widthOf(one.toleration) }))
      // The difference of two infinite times is NaN, which is falsy, as 0 is.
      .sort((a, b) => a.rank - b.rank || b.seconds - a.seconds || b.width - a.width)
      .map(({ one }) => one)
  );
}

/** Greater for a toleration of more taints. All keys count more than all values, and all values more than all effects. */
function widthOf(toleration: Toleration): number {
  const { key, operator, effect } = toleration;
  const [range] = rangesOf(toleration);
  return (key ? 0 : 8) + (range?.value === undefined ? 4 : 0) + (effect ? 0 : 2) + (operator === 'Exists' ? 1 : 0);
}

/**
 * True if the first toleration covers this range of the second one, and for at least as long. `tolerationSeconds` requires the effect
 * NoExecute, so the time makes no difference for other effects.
 */
function coversForAsLong(one: Toleration, other: Toleration, range: TaintRange): boolean {
  return rangesOf(one).some((own) => contains(own, range)) && secondsOf(one) >= secondsOf(other);
}

/** A range of a required toleration, and the tolerations before it that cover the range. */
export interface RequiredRange<T extends RequiredToleration> {
  readonly range: TaintRange;
  readonly coveredBy: readonly T[];
}

/** The required tolerations, {@link inOrder}, with their ranges. */
export function rangesInOrder<T extends RequiredToleration>(
  required: readonly T[],
): { readonly required: T; readonly ranges: readonly RequiredRange<T>[] }[] {
  const before = new Map<string | undefined, T[]>();
  return inOrder(required).map((one) => {
    const key = one.toleration.key || undefined;
    const others = [...new Set([undefined, key])].flatMap((some) => before.get(some) ?? []);
    before.set(key, [...(before.get(key) ?? []), one]);
    const ranges = rangesOf(one.toleration).map((range) => ({
      range,
      coveredBy: others.filter(({ toleration }) => coversForAsLong(toleration, one.toleration, range)),
    }));
    return { required: one, ranges };
  });
}

/**
 * The required tolerations, each with the ranges that no toleration before it covers. A toleration without such a range is left out.
 * It then does not matter which of them a DaemonSet already has, nor in which order the others are added.
 */
export function needsOf<T extends RequiredToleration>(required: readonly T[]): Need<T>[] {
  return rangesInOrder(required).flatMap(({ required: one, ranges }): Need<T>[] => {
    const own = ranges.filter(({ coveredBy }) => coveredBy.length === 0).map(({ range }) => range);
    return own.length > 0 ? [{ required: one, ranges: own }] : [];
  });
}

/**
 * The needs with a range that the tolerations do not cover. Appending any other toleration would not change where the pods can run.
 * @param tolerations of the pods: see {@link daemonTolerations}
 */
export function missingAmong<T extends RequiredToleration>(
  needs: readonly Need<T>[],
  tolerations: readonly Toleration[],
): Need<T>[] {
  const byKey = Map.groupBy(tolerations, ({ key }) => key || undefined);
  const isCovered = (range: TaintRange) =>
    [undefined, range.key].some((key) => byKey.get(key)?.some((toleration) => covers(toleration, range)));
  return needs.filter(({ ranges }) => ranges.some((range) => !isCovered(range)));
}

/**
 * The toleration that tolerates a NoExecute taint for a shorter time than the required one. The first toleration that matches
 * decides (`GetMatchingTolerations` of k8s.io/kubernetes/pkg/controller/tainteviction), so an appended one would have no effect.
 * @param tolerations of the template
 */
export function cutShortBy(
  tolerations: readonly Toleration[],
  { required, ranges }: Need<RequiredToleration>,
): Toleration | undefined {
  const range = ranges.find(({ effect }) => effect === 'NoExecute');
  if (!range) return undefined;
  const seconds = secondsOf(required.toleration);
  const isShort = (toleration: Toleration) => secondsOf(toleration) < seconds && !outlastsItsSeconds(toleration);
  const first = tolerations.find(
    (toleration) => reaches(toleration, range) && (isShort(toleration) || covers(toleration, range)),
  );
  return first && isShort(first) ? first : undefined;
}
