import { any, type Expression, other } from './expression.ts';
import type { NodePolicy } from './node-policies.ts';
import { taintLiteral, taintValue } from './taints.ts';
import { anyWanted } from './wants.ts';

/** To compare a taint with a wanted one: keys of the greatest length. */
const COMPARISON_COST = 50;

/** True when the node, with its `taints`, lacks a Present taint of a policy that is for its `labels`. */
export function lacksPresentTaint(policies: readonly NodePolicy[]): Expression {
  const groups = Map.groupBy(policies, ({ nodes }) => nodes);
  const wants = [...groups.values()].map((alike) => ({
    condition: any(alike.slice(0, 1).map(({ selects }) => selects.labels)),
    items: [...new Set(alike.flatMap(presentTaints))].sort(),
  }));
  const lacks = other(
    '!taints.exists(t,\n  t.key == want.key && t.effect == want.effect &&\n' +
      `  (!has(want.value) || want.value == ${taintValue('t')}))`,
    (length) => 5 + length * COMPARISON_COST,
    ['taints'],
  );
  return anyWanted(wants, lacks);
}

function presentTaints({ taints }: NodePolicy): string[] {
  return taints.flatMap(({ ensure, effect, key, value }) =>
    ensure === 'Present' && effect !== undefined
      ? [taintLiteral({ key, ...(value === undefined ? {} : { value }), effect })]
      : [],
  );
}
