import { type Expression, other, type Variable } from './expression.ts';
import { each, those } from './lists.ts';
import { taintValue } from './taints.ts';

// To compare two lists of taints by their names takes as much time as they are long; taint by taint, as much as its square.

/** `key:Effect`, what makes a taint `t` the one it is on a node; as an entry of an annotation, the taint with any value. */
export const IDENTITY: Expression = other('t.key + ":" + t.effect', 80);

/** `key=value:Effect`, with the `=` also where there is no value. */
export const EXACT_NAME: Expression = other(`t.key + "=" + ${taintValue('t')} + ":" + t.effect`, 175);

/** What an update leaves of the taints. */
export const LEFT: Variable = { name: 'left', definition: each('after', EXACT_NAME) };

/** The same taints as {@link DROPPED}. */
export const DROPPED_BY_NAME: Variable = {
  name: 'dropped',
  definition: those('before', notAmong(EXACT_NAME, 'left')),
};

/** True when the name of the taint `t` is not in the list, a bound name. */
export function notAmong(name: Expression, list: string): Expression {
  return other(`!(${name.text} in ${list})`, (size) => name.cost(size) + size + 3, [list]);
}
