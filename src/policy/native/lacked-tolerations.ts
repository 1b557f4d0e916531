import { HOST_NETWORK } from '../cel/daemon-sets.ts';
import {
  all,
  any,
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
import { ENDS_TOO_EARLY, notTolerated, rangeLiteral, secondsLiteral, TOLERATIONS } from '../cel/tolerations.ts';
import { alwaysTolerated } from '../daemon-tolerations.ts';
import type { TolerationPolicy } from '../policy.ts';
import { rangesOf } from '../taint-range.ts';
import { formatSeconds, formatToleration } from '../toleration.ts';
import { DEFAULT_TOLERATIONS } from '../toleration-policy.ts';
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
