import { any, type Expression, other, TRUE, type Variable } from '../cel/expression.ts';
import { HOST_NETWORK, selectsDaemonSet } from '../conditions/daemon-sets.ts';
import { asksFor, inOrder, type Wish } from '../judge/needed-tolerations.ts';
import { alwaysTolerated } from '../kubernetes/daemon-tolerations.ts';
import { overlap } from '../kubernetes/pattern.ts';
import { requirementsOf, satisfiable } from '../kubernetes/selector-overlap.ts';
import { rangesOf, type TaintRange } from '../kubernetes/taint-range.ts';
import type { DaemonSetSelection } from '../policy/daemon-set-selection.ts';
import type { TolerationPolicy } from '../policy/policy.ts';
import { DEFAULT_TOLERATIONS, TOLERATION_MODES } from '../policy/toleration-policy.ts';

/** A toleration that a policy asks for, for the DaemonSets that meet the condition. */
export interface Wanted extends Wish {
  readonly policy: string;
  readonly condition: Expression;
}

/** What is asked for of the DaemonSets that a policy is for. */
export interface Wants {
  /** What the conditions use. */
  readonly variables: readonly Variable[];
  /** In the order in which {@link judgeDaemonSet} goes by them. */
  readonly wanted: readonly Wanted[];
}

/** Asked for by that policy, and by those of `among` that may be for the same DaemonSet. */
export function wantedWith(policy: TolerationPolicy, among: readonly TolerationPolicy[]): Wants {
  const own = JSON.stringify(policy.spec.daemonSets);
  const conditions = new Map<string, Variable>();
  const conditionOf = ({ spec }: TolerationPolicy): Expression => {
    const selection = JSON.stringify(spec.daemonSets);
    if (selection === own) return TRUE;
    const name = `selection${conditions.size + 1}`;
    const variable = conditions.get(selection) ?? { name, definition: selectsDaemonSet(spec.daemonSets) };
    conditions.set(selection, variable);
    return variable.definition === TRUE ? TRUE : other(variable.name, 1, [variable.name]);
  };
  const wanted = meetingPolicies(policy, among).flatMap((one): Wanted[] => {
    const { name, spec } = one;
    const rank = TOLERATION_MODES.indexOf(spec.mode);
    const condition = conditionOf(one);
    return (spec.tolerations ?? DEFAULT_TOLERATIONS).map((toleration) => ({
      policy: name,
      toleration,
      rank,
      condition,
    }));
  });
  return { variables: [...conditions.values()], wanted: inOrder(wanted) };
}

/** By name. */
function meetingPolicies(policy: TolerationPolicy, among: readonly TolerationPolicy[]): TolerationPolicy[] {
  const others = among.filter(
    ({ name, spec }) => name !== policy.name && meet(spec.daemonSets, policy.spec.daemonSets),
  );
  return [policy, ...others].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** True when some DaemonSet may be among both. */
function meet(a: DaemonSetSelection, b: DaemonSetSelection): boolean {
  const overlapping = (some: readonly string[], others: readonly string[]) =>
    some.some((one) => others.some((other) => overlap(one, other)));
  return (
    overlapping(a.namespaces, b.namespaces) &&
    overlapping(a.names ?? ['*'], b.names ?? ['*']) &&
    satisfiable([...requirementsOf(a.selector), ...requirementsOf(b.selector)])
  );
}

/** Taints that a policy asks for, unless a condition is true: then somebody before it asks for them. */
export interface NeededRange {
  readonly range: TaintRange;
  readonly unless: Expression;
}

/** A wanted toleration that has to be asked for: {@link needsOf}, before it is known which policies are for a DaemonSet. */
export interface NativeNeed {
  readonly want: Wanted;
  /** At least one. */
  readonly ranges: readonly NeededRange[];
}

/** What is left to ask for in the order given, by those of whom `asks` is true. */
export function needsAmong(wanted: readonly Wanted[], asks: (want: Wanted) => boolean = () => true): NativeNeed[] {
  const before = new Map<string, Wanted[]>();
  return wanted.flatMap((want): NativeNeed[] => {
    const key = want.toleration.key ?? '';
    const alike = before.get(key) ?? [];
    const others = key === '' ? alike : [...(before.get('') ?? []), ...alike];
    before.set(key, [...alike, want]);
    if (!asks(want)) return [];
    const ranges = rangesOf(want.toleration).flatMap((range): NeededRange[] => {
      const askers = others.filter((other) => asksFor(other.toleration, want.toleration, range));
      const always = askers.some(({ condition }) => condition === TRUE || condition.text === want.condition.text);
      return always ? [] : [{ range, unless: any(askers.map(({ condition }) => condition)) }];
    });
    return ranges.length > 0 ? [{ want, ranges }] : [];
  });
}

/** The ranges that not every pod of a DaemonSet tolerates anyway. */
export function untoleratedRanges({ ranges }: NativeNeed): NeededRange[] {
  return ranges
    .filter(({ range }) => alwaysTolerated(range) !== 'in every pod')
    .map(({ range, unless }) => ({
      range,
      unless: alwaysTolerated(range) === 'nowhere' ? unless : any([unless, HOST_NETWORK]),
    }));
}
