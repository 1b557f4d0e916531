import { conditionalList, joined } from '../cel/conditional-lists.ts';
import {
  all,
  any,
  cel,
  choose,
  type Expression,
  LIST_COST,
  literal,
  not,
  referenced,
  type Variable,
} from '../cel/expression.ts';
import { EMPTY, exists, listOf } from '../cel/lists.ts';
import { normalized, normalizedLiteral, SAME_TEMPLATE, TOLERATIONS_BEFORE } from '../cel-rules/template-changes.ts';
import { HOST_NETWORK, notTolerated, rangeLiteral, TOLERATIONS } from '../cel-rules/tolerations.ts';
import { alwaysTolerated } from '../kubernetes/daemon-tolerations.ts';
import { rangesOf } from '../kubernetes/taint-range.ts';
import { TOLERATIONS_POINTER, type Toleration } from '../kubernetes/toleration.ts';
import type { CompiledTolerationPolicy } from '../policy/compiled-toleration-policy.ts';
import { lackingLists, needsAmong, type RequiredTolerations } from './required-tolerations.ts';

/** True if the DaemonSet does not tolerate a taint that the policy requires it to tolerate. */
export function lacksAny({ tolerations }: CompiledTolerationPolicy): Expression {
  const ranges = tolerations.flatMap(({ value }) => rangesOf(value));
  const anyOf = (literals: readonly string[]): Expression => {
    const items = [...new Set(literals)];
    const list = { items: cel(LIST_COST)`${listOf(items)}`, size: items.length };
    return items.length === 0 ? any([]) : exists(list, 'required', notTolerated({ dynamic: false }));
  };
  const at = (place: ReturnType<typeof alwaysTolerated>) =>
    anyOf(ranges.filter((range) => alwaysTolerated(range) === place).map(rangeLiteral));
  return any([at('nowhere'), all([not(HOST_NETWORK), at('with the host network')])]);
}

/** Item by item: existing items are not replaced. */
function patchOf(added: Variable): Expression {
  return choose(
    cel(5)`size(${added}) == 0 || has(object.spec.template.spec.tolerations)`,
    cel((size) => 10 + size * 40)`${added}.map(t, JSONPatch{op: "add", path: "${TOLERATIONS_POINTER}/-", value: t})`,
    cel(40)`[JSONPatch{op: "add", path: "${TOLERATIONS_POINTER}", value: ${added}}]`,
  );
}

const NOW: Variable = { name: 'now', definition: normalized(TOLERATIONS) };
const [OLD_TOLERATIONS, BEFORE] = TOLERATIONS_BEFORE;

/** Whether the pods of a DaemonSet with these required tolerations do not restart once it gets back what an update removes. */
function isAsBefore(required: Variable): Expression {
  return all([
    referenced(SAME_TEMPLATE),
    cel(3)`size(${BEFORE}) >= size(${NOW})`,
    // Each costs as much as the compared fields. The required tolerations have their own cost.
    cel((size) => size * 80)`${BEFORE}.all(i, t, i < size(${NOW}) ? t == ${NOW}[i] : t in ${required})`,
  ]);
}

/** The removed tolerations as new maps, because an item itself must not be in a patch, for the reason in `puttingTaints`. */
const TAKEN_OUT: Variable = {
  name: 'takenOut',
  definition: cel((size) => 10 + size * 110)`${OLD_TOLERATIONS}.transformList(i, t, i >= size(${NOW}), {
  "key": dyn(has(t.key) ? t.key : ""), "operator": dyn(has(t.operator) ? t.operator : ""),
  "value": dyn(has(t.value) ? t.value : ""), "effect": dyn(has(t.effect) ? t.effect : ""),
  "tolerationSeconds": has(t.tolerationSeconds) ? dyn(t.tolerationSeconds) : dyn(null)
})`,
};

/** The additions for a DaemonSet with these required tolerations: those of {@link judgeDaemonSet}, as a JSON patch in CEL. */
export function additionsOf({ variables, required }: RequiredTolerations): {
  variables: readonly Variable[];
  patch: Expression;
} {
  const lacking = lackingLists(needsAmong(required), {
    write: ({ required }) => patchLiteral(required.toleration),
    read: 'need.required',
  });
  const requiredTolerations: Variable = {
    name: 'required',
    definition: conditionalList(
      required.map(({ condition, toleration }) => ({ condition, item: cel(0)`${normalizedLiteral(toleration)}` })),
    ),
  };
  const asBefore: Variable = { name: 'asBefore', definition: isAsBefore(requiredTolerations) };
  const added: Variable = {
    name: 'added',
    definition: choose(referenced(asBefore), referenced(TAKEN_OUT), lacking.length > 0 ? joined(lacking) : EMPTY),
  };
  return {
    variables: [
      TOLERATIONS,
      ...variables,
      ...TOLERATIONS_BEFORE,
      requiredTolerations,
      SAME_TEMPLATE,
      NOW,
      asBefore,
      TAKEN_OUT,
      ...lacking,
      added,
    ],
    patch: patchOf(added),
  };
}

/** The toleration as a map in CEL. Empty fields are absent in the object. */
function patchLiteral({ key, operator, value, effect, tolerationSeconds }: Toleration): string {
  // Values of a map have one type. If one of them is a number, all are dynamic.
  const dynamic = tolerationSeconds != null;
  const written = (text: string) => (dynamic ? `dyn(${text})` : text);
  const fields = Object.entries({ key, operator, value, effect }).map(
    ([field, text]) => `"${field}": ${written(literal(text ?? ''))}`,
  );
  const seconds = dynamic ? [`"tolerationSeconds": ${written(String(tolerationSeconds))}`] : [];
  return `{${[...fields, ...seconds].join(', ')}}`;
}
