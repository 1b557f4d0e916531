import { conditionalList, dividedLists } from '../cel/conditional-lists.ts';
import { any, cel, type Expression, not, referenced, repeated, TRUE, type Variable } from '../cel/expression.ts';
import { selectsDaemonSet } from '../cel-rules/daemon-set-selection.ts';
import { HOST_NETWORK, notTolerated, rangeLiteral } from '../cel-rules/tolerations.ts';
import { inOrder, type RequiredToleration, rangesInOrder } from '../judge/request/needed-tolerations.ts';
import { alwaysTolerated } from '../kubernetes/daemon-tolerations.ts';
import { patternsOverlap } from '../kubernetes/pattern.ts';
import { requirementsOf, satisfiable } from '../kubernetes/selector-overlap.ts';
import type { TaintRange } from '../kubernetes/taint-range.ts';
import type { CompiledTolerationPolicy } from '../policy/compiled-toleration-policy.ts';
import type { DaemonSetSelection } from '../policy/daemon-set-selection.ts';
import { byName } from '../policy/policy-set.ts';

/** A toleration that a policy requires, for the DaemonSets that meet the condition. */
export interface ConditionalToleration extends RequiredToleration {
  readonly policy: string;
  readonly condition: Expression;
}

/** The required tolerations of the DaemonSets that a policy selects. */
export interface RequiredTolerations {
  /** The variables of the conditions. */
  readonly variables: readonly Variable[];
  /** In the order of {@link judgeDaemonSet}. */
  readonly required: readonly ConditionalToleration[];
}

/** Required by that policy, and by those of `among` that may select the same DaemonSet. */
export function requiredWith(
  policy: CompiledTolerationPolicy,
  among: readonly CompiledTolerationPolicy[],
): RequiredTolerations {
  const own = JSON.stringify(policy.daemonSets);
  const conditions = new Map<string, Variable>();
  const conditionOf = ({ daemonSets }: CompiledTolerationPolicy): Expression => {
    const selection = JSON.stringify(daemonSets);
    if (selection === own) return TRUE;
    const name = `selection${conditions.size + 1}`;
    const variable = conditions.get(selection) ?? { name, definition: selectsDaemonSet(daemonSets) };
    conditions.set(selection, variable);
    return variable.definition === TRUE ? TRUE : referenced(variable);
  };
  const others = among.filter(({ name, daemonSets }) => name !== policy.name && meet(daemonSets, policy.daemonSets));
  const required = [policy, ...others].sort(byName).flatMap((one): ConditionalToleration[] => {
    const condition = conditionOf(one);
    return one.tolerations.map(({ value }) => ({ policy: one.name, toleration: value, rank: one.rank, condition }));
  });
  return { variables: [...conditions.values()], required: inOrder(required) };
}

/** True if both may select one DaemonSet. */
function meet(a: DaemonSetSelection, b: DaemonSetSelection): boolean {
  const overlapping = (some: readonly string[], others: readonly string[]) =>
    some.some((one) => others.some((other) => patternsOverlap(one, other)));
  return (
    overlapping(a.namespaces, b.namespaces) &&
    overlapping(a.names ?? ['*'], b.names ?? ['*']) &&
    satisfiable([...requirementsOf(a.selector), ...requirementsOf(b.selector)])
  );
}

/** Taints that a policy requires to be tolerated, unless a condition is true: then an earlier policy requires that. */
export interface NeededRange {
  readonly range: TaintRange;
  readonly unless: Expression;
}

/** A required toleration: {@link needsOf}, before it is known which policies select a DaemonSet. */
export interface ConditionalNeed {
  readonly required: ConditionalToleration;
  /** At least one. */
  readonly ranges: readonly NeededRange[];
}

/** The remaining requirements in the given order, of the policies for which `asks` is true. */
export function needsAmong(
  tolerations: readonly ConditionalToleration[],
  asks: (toleration: ConditionalToleration) => boolean = () => true,
): ConditionalNeed[] {
  return rangesInOrder(tolerations)
    .filter(({ required }) => asks(required))
    .flatMap(({ required, ranges }): ConditionalNeed[] => {
      const needed = ranges
        .filter(({ coveredBy }) =>
          coveredBy.every(({ condition }) => condition !== TRUE && condition.text !== required.condition.text),
        )
        .map(({ range, coveredBy }) => ({ range, unless: any(coveredBy.map(({ condition }) => condition)) }));
      return needed.length > 0 ? [{ required, ranges: needed }] : [];
    });
}

/** How a toleration is written in a list, and how it is read with the name `need`. */
export interface ItemForm {
  readonly write: (need: ConditionalNeed) => string;
  /** The value of `need.required`, which has a dynamic type. */
  readonly read: string;
}

/** `lacking`: the needed tolerations that the DaemonSet lacks. */
export function lackingLists(needs: readonly ConditionalNeed[], { write, read }: ItemForm): Variable[] {
  const items = needs.flatMap((need) => {
    const ranges = need.ranges.filter(({ range }) => alwaysTolerated(range) !== 'in every pod');
    if (ranges.length === 0) return [];
    const list = conditionalList(ranges.map(rangeItem));
    const item = cel(0)`{"required": dyn(${write(need)}), "ranges": dyn(${list})}`;
    return [{ condition: need.required.condition, item, weight: ranges.length }];
  });
  const isLacking = notTolerated({ dynamic: true });
  return dividedLists('lacking', items, (some) => {
    const list = conditionalList(some);
    const ranges = some.reduce((sum, { weight }) => sum + weight, 0);
    return cel(ranges * 30 + some.length * 40)`${list}.filter(need, need.ranges.exists(required,
  ${repeated(() => ranges, isLacking)})).map(need, ${read})`;
  });
}

function rangeItem({ range, unless }: NeededRange) {
  const tolerated = alwaysTolerated(range) === 'nowhere' ? unless : any([unless, HOST_NETWORK]);
  return { condition: not(tolerated), item: cel(0)`${rangeLiteral(range)}` };
}
