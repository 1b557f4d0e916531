import { all, choose, type Expression, LIST_COST, literal, other, type Variable } from '../cel/expression.ts';
import { EMPTY } from '../cel/lists.ts';
import { SAME_TEMPLATE, TOLERATIONS_BEFORE } from '../cel/template.ts';
import { normalized, normalizedLiteral, TOLERATIONS } from '../cel/tolerations.ts';
import type { Toleration } from '../toleration.ts';
import { inAll, lackedLists, listIn } from './lists-of-wants.ts';
import { needsAmong, type Wants } from './wanted-tolerations.ts';

const PATH = '/spec/template/spec/tolerations';

/** Item by item: what stands there is not written anew. */
const PATCH: Expression = choose(
  other('size(added) == 0 || has(object.spec.template.spec.tolerations)', 6, ['added']),
  other(`added.map(t, JSONPatch{op: "add", path: "${PATH}/-", value: t})`, (size) => 10 + size * 40, ['added']),
  other(`[JSONPatch{op: "add", path: "${PATH}", value: added}]`, 40, ['added']),
);

/** `takenOut`: what an update takes out of a DaemonSet, and `asBefore`, whether with that it runs as before. */
const TAKEN_OUT: readonly Variable[] = [
  { name: 'now', definition: normalized('tolerations') },
  {
    name: 'asBefore',
    definition: all([
      other('sameTemplate', 1, ['sameTemplate']),
      other('size(before) >= size(now)', 4, ['before', 'now']),
      other(
        'before.all(i, t, i < size(now) ? t == now[i] : t in wanted)',
        // Either costs as much as the fields that are compared; of `wanted`, which has its own cost, few are.
        (size) => size * 80,
        ['before', 'now', 'wanted'],
      ),
    ]),
  },
  {
    name: 'takenOut',
    definition: other('before.transformList(i, t, i >= size(now), ran[i])', (size) => 10 + size * 20, [
      'before',
      'now',
      'ran',
    ]),
  },
];

/** What a DaemonSet gets that is asked for these tolerations: what {@link judgeDaemonSet} adds, as a JSON patch in CEL. */
export function additionsOf({ variables, wanted }: Wants): { variables: readonly Variable[]; patch: Expression } {
  const lacking = lackedLists('lacking', needsAmong(wanted), {
    write: ({ want }) => patchLiteral(want.toleration),
    read: 'need.wanted',
  });
  const list = listIn(wanted.map(({ condition, toleration }) => ({ condition, item: normalizedLiteral(toleration) })));
  return {
    variables: [
      TOLERATIONS,
      ...variables,
      ...TOLERATIONS_BEFORE,
      { name: 'wanted', definition: list },
      SAME_TEMPLATE,
      ...TAKEN_OUT,
      ...lacking.variables,
      {
        name: 'added',
        definition: choose(
          other('asBefore', 1, ['asBefore']),
          other('takenOut', LIST_COST, ['takenOut']),
          lacking.names.length > 0 ? inAll(lacking.names) : EMPTY,
        ),
      },
    ],
    patch: PATCH,
  };
}

/** The toleration as a map in CEL. What is empty there is absent in the object. */
function patchLiteral({ key, operator, value, effect, tolerationSeconds }: Toleration): string {
  // Values of a map have one type: with a number among them, all are dynamic.
  const dynamic = tolerationSeconds != null;
  const written = (text: string) => (dynamic ? `dyn(${text})` : text);
  const fields = Object.entries({ key, operator, value, effect }).map(
    ([field, text]) => `"${field}": ${written(literal(text ?? ''))}`,
  );
  const seconds = dynamic ? [`"tolerationSeconds": ${written(String(tolerationSeconds))}`] : [];
  return `{${[...fields, ...seconds].join(', ')}}`;
}
