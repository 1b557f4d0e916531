import {
  all,
  any,
  choose,
  type Expression,
  exists,
  indented,
  LIST_COST,
  listOf,
  literal,
  not,
  other,
  type Variable,
} from '../cel/expression.ts';
import { EMPTY } from '../cel/lists.ts';
import { HOST_NETWORK, SAME_TEMPLATE, TOLERATIONS_BEFORE } from '../conditions/daemon-sets.ts';
import {
  ENDS_TOO_EARLY,
  normalized,
  normalizedLiteral,
  notTolerated,
  rangeLiteral,
  secondsLiteral,
  TOLERATIONS,
} from '../conditions/tolerations.ts';
import { alwaysTolerated } from '../kubernetes/daemon-tolerations.ts';
import { rangesOf } from '../kubernetes/taint-range.ts';
import { formatSeconds, formatToleration, type Toleration } from '../kubernetes/toleration.ts';
import type { TolerationPolicy } from '../policy/policy.ts';
import { DEFAULT_TOLERATIONS } from '../policy/toleration-policy.ts';
import { inAll, inLists, lackedLists, listIn, type NamedLists, type WeighedPiece } from './lists-of-wants.ts';
import { type NativeNeed, needsAmong, type Wants } from './wanted-tolerations.ts';

/** A messageExpression may come to 5 KiB, and a key has up to 317 characters. */
const SHOWN = 8;
const TEXT_LENGTH = 400;

/** To look at seconds costs the API server more than to look at taints. */
const SECONDS_WEIGHT = 3;

/** True when the DaemonSet does not tolerate a taint that the policy means. */
export function lacksAny({ spec }: TolerationPolicy): Expression {
  const ranges = (spec.tolerations ?? DEFAULT_TOLERATIONS).flatMap(rangesOf);
  const anyOf = (found: readonly string[]): Expression => {
    const items = [...new Set(found)];
    const list = { text: listOf(items), size: items.length, cost: LIST_COST, uses: [] };
    return items.length === 0 ? any([]) : exists(list, 'want', notTolerated({ dynamic: false }));
  };
  const at = (place: ReturnType<typeof alwaysTolerated>) =>
    anyOf(ranges.filter((range) => alwaysTolerated(range) === place).map(rangeLiteral));
  return any([at('nowhere'), all([not(HOST_NETWORK), at('with the host network')])]);
}

/**
 * What a ValidatingAdmissionPolicy says of a DaemonSet that lacks tolerations which the policy asks for. Nothing where other
 * policies ask for all of them, and have reported that, or where every pod tolerates them anyway.
 */
export function lackedOf({ name, spec }: TolerationPolicy, { variables, wanted }: Wants, mutates: boolean) {
  const needs = needsAmong(wanted, (want) => want.policy === name);
  const lacking = lackedLists('lacking', needs, {
    write: ({ want }) => literal(formatToleration(want.toleration)),
    read: 'string(need.wanted)',
  });
  const pieces = earlyPieces(needs);
  const early = earlyLists(pieces);
  const names = [...lacking.names, ...early.names];
  if (names.length === 0) return undefined;
  const missing: Variable = { name: 'missing', definition: inAll(names) };
  const shown = shownOf(needs.length + pieces.length);
  const mode = spec.mode === 'Audit' ? ', Audit' : '';
  const then = spec.mode === 'Mutate' && mutates ? literal('; added with the next change of the pod template') : '';
  const key = spec.mode === 'Audit' ? 'audited' : 'missing';
  // What ends too early is not mended by an addition.
  const atEnd = early.names.length > 0 && then !== '' ? `(${sizes(early)} == 0 ? ${then} : "")` : then;
  return {
    variables: [TOLERATIONS, ...variables, ...lacking.variables, ...early.variables, missing] satisfies Variable[],
    validation: {
      holds: other('size(missing) == 0', 2, ['missing']),
      message: other(
        `${literal(`TolerationPolicy ${name}${mode}: missing tolerations: `)} + ${shown.text}${atEnd ? ` + ${atEnd}` : ''}`,
        (size) => shown.cost(size) + 10 * early.names.length,
        [...shown.uses, ...early.names],
      ),
    },
    auditAnnotations: {
      [key]: other(`size(missing) == 0 ? "" : ${literal(`${name}: `)} + ${shown.text}`, shown.cost, shown.uses),
    },
  };
}

/** What may be tolerated for a shorter time than is asked for. */
function earlyPieces(needs: readonly NativeNeed[]): WeighedPiece[] {
  return needs.flatMap(({ want, ranges }) =>
    ranges.flatMap(({ range, unless }) => {
      const item = secondsLiteral(range, want.toleration, { text: formatSeconds(want.toleration) });
      const condition = all([want.condition, not(unless)]);
      return item === undefined ? [] : [{ condition, item, ranges: SECONDS_WEIGHT }];
    }),
  );
}

/** `early`: what is. */
function earlyLists(pieces: readonly WeighedPiece[]): NamedLists {
  return inLists('early', pieces, (some) => {
    const list = listIn(some);
    return other(
      `${list.text}.filter(want,\n  ${indented(ENDS_TOO_EARLY.text)}).map(want, want.text)`,
      (size) => list.cost(size) + some.length * (ENDS_TOO_EARLY.cost(size) + 40),
      [...list.uses, ...ENDS_TOO_EARLY.uses],
    );
  });
}

function sizes({ names }: NamedLists): string {
  return names.map((name) => `size(${name})`).join(' + ');
}

function shownOf(count: number): Expression {
  const cost = count * (TEXT_LENGTH / 10 + 10 + count);
  if (count <= SHOWN) return other('missing.join(", ")', cost, ['missing']);
  const first = `missing.filter(text, missing.indexOf(text) < ${SHOWN}).join(", ")`;
  const more = `(size(missing) > ${SHOWN} ? " and " + string(size(missing) - ${SHOWN}) + " more" : "")`;
  return other(`${first} + ${more}`, cost, ['missing']);
}

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
