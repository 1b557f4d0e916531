import { any, choose, type Expression, FALSE, LIST_COST, listOf, other } from '../cel/expression.ts';
import { EMPTY, together } from '../cel/lists.ts';
import { selectsIn } from '../cel/selector.ts';
import { taintLiteral } from '../cel/taints.ts';
import type { TaintPolicy } from '../policy.ts';
import { requirementsOf, satisfiable } from '../selector-overlap.ts';
import { identity } from '../taint.ts';
import { TAINT_MODES } from '../taint-policy.ts';

/** A Present taint; without a value, any is meant. */
export type Want = { readonly key: string; readonly value?: string; readonly effect: string };

/** A taint that it wants with one value and with any, it wants with that value. */
export function wantsOf({ spec }: TaintPolicy): Want[] {
  const wants = spec.taints.flatMap(({ ensure, key, value, effect }) =>
    ensure === 'Present' && effect !== undefined ? [{ key, ...(value === undefined ? {} : { value }), effect }] : [],
  );
  const withValue = new Map(wants.filter(({ value }) => value !== undefined).map((want) => [identity(want), want]));
  return [...new Map(wants.map((want) => [identity(want), withValue.get(identity(want)) ?? want])).values()];
}

/** A stronger policy that could be for the same node, and what it wants there. */
interface Rival {
  readonly selects: Expression;
  readonly wants: readonly Want[];
}

function rivalsOf(policy: TaintPolicy, others: readonly TaintPolicy[]): Rival[] {
  const own = requirementsOf(policy.spec.nodeSelector);
  return others
    .filter((one) => one.spec.mode !== 'Audit' && isStronger(one, policy))
    .filter((one) => wantsOf(one).length > 0)
    .filter(({ spec }) => satisfiable([...own, ...requirementsOf(spec.nodeSelector)]))
    .map((one) => ({ selects: selectsIn('labels', one.spec.nodeSelector), wants: wantsOf(one) }));
}

function isStronger(a: TaintPolicy, b: TaintPolicy): boolean {
  const strength = ({ spec }: TaintPolicy) => TAINT_MODES.indexOf(spec.mode);
  return strength(a) < strength(b) || (strength(a) === strength(b) && a.name < b.name);
}

/** The Present taints of a policy, but those that a stronger one of the others wants on the node with another value. */
export function wantedUnlessContested(policy: TaintPolicy, others: readonly TaintPolicy[]): Expression {
  const wants = wantsOf(policy);
  const rivals = rivalsOf(policy, others);
  const groups = Map.groupBy(
    wants.map((want) => ({ want, contested: isContested(want, rivals) })),
    ({ contested }) => contested.text,
  );
  const lists = [...groups.values()]
    .map((alike) => {
      const [{ contested } = { contested: FALSE }] = alike;
      return choose(contested, EMPTY, listOfWants(alike.map(({ want }) => want)));
    })
    .filter((list) => list !== EMPTY);
  return lists.length === 0 ? EMPTY : together(lists);
}

/** True for a node that gets another value of the taint from a stronger policy. */
function isContested(want: Want, rivals: readonly Rival[]): Expression {
  if (want.value === undefined) return FALSE;
  return any(
    rivals
      .filter(({ wants }) =>
        wants.some((one) => identity(one) === identity(want) && one.value !== undefined && one.value !== want.value),
      )
      .map(({ selects }) => selects),
  );
}

export function listOfWants(wants: readonly Want[]): Expression {
  return other(listOf(wants.map(taintLiteral)), LIST_COST + wants.length * 40);
}
