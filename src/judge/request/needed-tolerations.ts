import {
  contains,
  covers,
  outlastsItsSeconds,
  rangesOf,
  reaches,
  secondsOf,
  type TaintRange,
  type Toleration,
} from '../../kubernetes/toleration.ts';

export interface RequiredToleration {
  readonly toleration: Toleration;
  /** Of two tolerations of the same taints, the one of the lower rank comes first. */
  readonly rank: number;
}

/** A required toleration, and the taints for which none before it asks: at least one range. */
export interface Need<T extends RequiredToleration> {
  readonly required: T;
  readonly ranges: readonly TaintRange[];
}

/**
 * By rank; then the longest first, because Kubernetes goes by the first toleration that matches; then the widest. So none
 * makes one before it needless, whatever policies are called. Of equals, the order is kept.
 */
export function inOrder<T extends RequiredToleration>(required: readonly T[]): T[] {
  return (
    required
      .map((one) => ({ one, rank: one.rank, seconds: secondsOf(one.toleration), width: widthOf(one.toleration) }))
      // The difference of two infinite times is NaN, which is false as 0 is.
      .sort((a, b) => a.rank - b.rank || b.seconds - a.seconds || b.width - a.width)
      .map(({ one }) => one)
  );
}

/** Greater for a toleration of more taints. Every key counts more than any value, and any value more than every effect. */
function widthOf(toleration: Toleration): number {
  const { key, operator, effect } = toleration;
  const [range] = rangesOf(toleration);
  return (key ? 0 : 8) + (range?.value === undefined ? 4 : 0) + (effect ? 0 : 2) + (operator === 'Exists' ? 1 : 0);
}

/**
 * True if the first toleration makes the second one needless for this range of the second one. Only tolerations of NoExecute alone have
 * `tolerationSeconds`, so that the seconds decide nothing for other effects.
 */
function asksFor(one: Toleration, other: Toleration, range: TaintRange): boolean {
  return rangesOf(one).some((own) => contains(own, range)) && secondsOf(one) >= secondsOf(other);
}

/** A range of a required toleration, and the tolerations before it in the order that ask for all of its taints. */
export interface AskedRange<T extends RequiredToleration> {
  readonly range: TaintRange;
  readonly askedBy: readonly T[];
}

/** The required tolerations, {@link inOrder}, with their ranges. */
export function askedRanges<T extends RequiredToleration>(
  required: readonly T[],
): { readonly required: T; readonly ranges: readonly AskedRange<T>[] }[] {
  const before = new Map<string | undefined, T[]>();
  return inOrder(required).map((one) => {
    const key = one.toleration.key || undefined;
    const others = [...new Set([undefined, key])].flatMap((some) => before.get(some) ?? []);
    before.set(key, [...(before.get(key) ?? []), one]);
    const ranges = rangesOf(one.toleration).map((range) => ({
      range,
      askedBy: others.filter(({ toleration }) => asksFor(toleration, one.toleration, range)),
    }));
    return { required: one, ranges };
  });
}

/**
 * What is to be asked for, so that no toleration asks for what another one does: then it does not matter which of them are there
 * already, and in which order the others are added.
 */
export function needsOf<T extends RequiredToleration>(required: readonly T[]): Need<T>[] {
  return askedRanges(required).flatMap(({ required: one, ranges }): Need<T>[] => {
    const own = ranges.filter(({ askedBy }) => askedBy.length === 0).map(({ range }) => range);
    return own.length > 0 ? [{ required: one, ranges: own }] : [];
  });
}

/**
 * Those of which a taint is not tolerated that is asked for: then to append the toleration changes what a node can run.
 * @param tolerations of the pods: see {@link daemonTolerations}
 */
export function lackingAmong<T extends RequiredToleration>(
  needs: readonly Need<T>[],
  tolerations: readonly Toleration[],
): Need<T>[] {
  const byKey = Map.groupBy(tolerations, ({ key }) => key || undefined);
  const isCovered = (range: TaintRange) =>
    [undefined, range.key].some((key) => byKey.get(key)?.some((toleration) => covers(toleration, range)));
  return needs.filter(({ ranges }) => ranges.some((range) => !isCovered(range)));
}

/**
 * The toleration by which a NoExecute taint is tolerated for a shorter time than is asked for. The first one that matches
 * decides (`GetMatchingTolerations` of k8s.io/kubernetes/pkg/controller/tainteviction), so that nothing appended helps.
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
