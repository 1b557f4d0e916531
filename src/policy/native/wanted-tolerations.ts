import { selectsDaemonSet } from '../cel/daemon-sets.ts';
import { type Expression, indented, LIST_COST, listOf, literal, other, TRUE } from '../cel/expression.ts';
import type { DaemonSetSelection } from '../daemon-set-selection.ts';
import { overlap } from '../pattern-overlap.ts';
import type { TolerationPolicy } from '../policy.ts';
import { requirementsOf, satisfiable } from '../selector-overlap.ts';
import { equalToleration, type Toleration, taintsMeantBy, tolerates } from '../toleration.ts';
import { DEFAULT_TOLERATIONS, TOLERATION_MODES } from '../toleration-policy.ts';

/** A toleration that a policy asks for, for the DaemonSets that meet the condition. */
export interface Wanted {
  readonly policy: string;
  readonly toleration: Toleration;
  readonly condition: Expression;
}

/**
 * What is asked for of the DaemonSets that a policy is for: by that policy, and by those of `among` that may be for the same one;
 * in the order in which {@link judgeDaemonSet} goes by them. What an earlier one asks for under the same condition is left out.
 */
export function wantedWith(policy: TolerationPolicy, among: readonly TolerationPolicy[]): Wanted[] {
  const wanted: Wanted[] = [];
  for (const { name, spec } of inOrder(policy, among)) {
    const same = JSON.stringify(spec.daemonSets) === JSON.stringify(policy.spec.daemonSets);
    const condition = same ? TRUE : selectsDaemonSet(spec.daemonSets);
    for (const toleration of spec.tolerations ?? DEFAULT_TOLERATIONS) {
      const again = wanted.some(
        (other) =>
          (other.condition === TRUE || other.condition.text === condition.text) &&
          equalToleration(other.toleration, toleration),
      );
      if (!again) wanted.push({ policy: name, toleration, condition });
    }
  }
  return wanted;
}

function inOrder(policy: TolerationPolicy, among: readonly TolerationPolicy[]): TolerationPolicy[] {
  const strength = ({ spec: { mode } }: TolerationPolicy) => TOLERATION_MODES.indexOf(mode);
  const others = among.filter(
    ({ name, spec }) => name !== policy.name && meet(spec.daemonSets, policy.spec.daemonSets),
  );
  return [policy, ...others].sort((a, b) => strength(a) - strength(b) || (a.name < b.name ? -1 : 1));
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

/** True when the first of two tolerations, once added, may make the second one needless. */
export function mayCover(one: Toleration, other: Toleration): boolean {
  return taintsMeantBy(other).some((taint) => tolerates(one, taint));
}

/** How many taints the tolerations of one list may be written for: more would cost the API server too much at once. */
const TAINTS_OF_RUN = 96;

/** The same in the same order, in pieces within which no one makes another one needless. */
export function independentRuns(wanted: readonly Wanted[]): Wanted[][] {
  const runs: { wants: Wanted[]; taints: number }[] = [];
  for (const want of wanted) {
    const taints = taintsMeantBy(want.toleration).length;
    const run = runs.at(-1);
    const fits =
      run !== undefined &&
      run.taints + taints <= TAINTS_OF_RUN &&
      !run.wants.some(({ toleration }) => mayCover(toleration, want.toleration));
    if (fits) {
      run.wants.push(want);
      run.taints += taints;
    } else {
      runs.push({ wants: [want], taints });
    }
  }
  return runs.map(({ wants }) => wants);
}

/** Those of which one may make another one, that says something else, needless. */
export function tangledWith(wanted: readonly Wanted[]): Wanted[] {
  return wanted.filter(({ toleration: one }) =>
    wanted.some(
      ({ toleration: other }) => !equalToleration(one, other) && (mayCover(one, other) || mayCover(other, one)),
    ),
  );
}

/** The wanted tolerations as a list in CEL, each written by `write`, which says the same thing only once. */
export function wantedList(wanted: readonly Wanted[], write: (want: Wanted) => string): Expression {
  const pieces: { condition: Expression; items: string[] }[] = [];
  for (const want of wanted) {
    const last = pieces.at(-1);
    if (last?.condition.text === want.condition.text) last.items.push(write(want));
    else pieces.push({ condition: want.condition, items: [write(want)] });
  }
  const texts = pieces.map(({ condition, items }) => {
    const list = listOf([...new Set(items)]);
    return condition === TRUE ? list : `(\n  ${indented(condition.text)}\n  ? ${indented(list)}\n  : [])`;
  });
  return other(
    texts.length > 1 ? `(${texts.join(' + ')})` : texts.join(''),
    (size) => pieces.reduce((sum, { condition }) => sum + condition.cost(size) + 2 * LIST_COST, 0),
    pieces.flatMap(({ condition }) => [...condition.uses]),
  );
}

/** True for a policy any of whose wanted tolerations is for every effect. */
export function someAnyEffect(wanted: readonly Wanted[]): boolean {
  return wanted.some(({ toleration }) => !toleration.effect);
}

/** How the wanted tolerations are written for a JSON patch. What is empty there is absent in the object. */
export function patchLiterals(wanted: readonly Wanted[]): Literals {
  // Values of a map have one type: with a number among them, all are dynamic.
  const dynamic = wanted.some(({ toleration }) => toleration.tolerationSeconds != null);
  const written = (value: string) => (dynamic ? `dyn(${value})` : value);
  return {
    dynamic,
    write({ toleration: { key, operator, value, effect, tolerationSeconds } }) {
      const fields = Object.entries({ key, operator, value, effect }).map(
        ([field, text]) => `"${field}": ${written(literal(text ?? ''))}`,
      );
      const seconds = tolerationSeconds == null ? [] : [`"tolerationSeconds": ${written(String(tolerationSeconds))}`];
      return `{${[...fields, ...seconds].join(', ')}}`;
    },
  };
}

/** A way to write wanted tolerations as maps in CEL. */
export interface Literals {
  write(want: Wanted): string;
  /** Whether the values of the maps are of dynamic type. */
  readonly dynamic: boolean;
}
