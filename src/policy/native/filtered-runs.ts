import { type Expression, LIST_COST, other, type Variable } from '../cel/expression.ts';
import { lacks } from '../cel/tolerations.ts';
import { independentRuns, type Literals, someAnyEffect, type Wanted, wantedList } from './wanted-tolerations.ts';

/** Lists in CEL, each under a name. */
export interface FilteredRuns {
  readonly variables: readonly Variable[];
  readonly lists: readonly string[];
  /** The tolerations that are there, and after them all lists: a name. */
  readonly there: string;
}

/**
 * The wanted tolerations that the list `there` does not cover; what one adds, the next one need not. As many lists as there are
 * runs of wants that do not cover each other, nearly always one.
 */
export function filteredRuns(
  wanted: readonly Wanted[],
  { name, there, literals }: { name: string; there: string; literals: Literals },
): FilteredRuns {
  const runs = independentRuns(wanted);
  const variables: Variable[] = [];
  const lists: string[] = [];
  let before = there;
  for (const [index, run] of runs.entries()) {
    const number = runs.length === 1 ? '' : String(index + 1);
    const list = `${name}${number}`;
    const after = `${there}And${upper(list)}`;
    variables.push(
      { name: list, definition: filteredBy(before, run, wanted.length, literals) },
      { name: after, definition: other(`dyn(${before}) + ${list}`, LIST_COST, [before, list]) },
    );
    lists.push(list);
    before = after;
  }
  return { variables, lists, there: before };
}

function filteredBy(there: string, run: readonly Wanted[], more: number, { write, dynamic }: Literals): Expression {
  const list = wantedList(run, write);
  const condition = lacks(there, { anyEffect: someAnyEffect(run), dynamic, more });
  return other(
    `${list.text}.filter(want, ${condition.text})`,
    (size) => list.cost(size) + run.length * condition.cost(size),
    [...list.uses, ...condition.uses],
  );
}

function upper(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
