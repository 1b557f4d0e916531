import { conditionalList, dividedLists, joined, type WeighedItem } from '../cel/conditional-lists.ts';
import {
  all,
  cel,
  composed,
  type Expression,
  literal,
  not,
  referenced,
  repeated,
  sumOf,
  type Variable,
} from '../cel/expression.ts';
import { isEmpty } from '../cel/lists.ts';
import { ENDS_TOO_EARLY, secondsLiteral, TOLERATIONS } from '../cel-rules/tolerations.ts';
import { resultKey } from '../judge/outcomes.ts';
import { formatSeconds, formatToleration } from '../kubernetes/toleration.ts';
import type { CompiledTolerationPolicy } from '../policy/compiled-toleration-policy.ts';
import { type ConditionalNeed, lackingLists, needsAmong, type RequiredTolerations } from './required-tolerations.ts';

/** A messageExpression may return at most 5 KiB, and a key has up to 317 characters. */
const SHOWN = 8;
const TEXT_LENGTH = 400;

/** Comparing seconds costs the API server more than comparing taints. */
const SECONDS_WEIGHT = 3;

/**
 * The report of a ValidatingAdmissionPolicy about a DaemonSet that lacks required tolerations. Undefined if other policies require all of them and
 * report that, or if every pod tolerates them anyway.
 */
export function missingReport(
  { name, mode }: CompiledTolerationPolicy,
  { variables, required }: RequiredTolerations,
  mutates: boolean,
) {
  const needs = needsAmong(required, ({ policy }) => policy === name);
  const lacking = lackingLists(needs, {
    write: ({ required }) => literal(formatToleration(required.toleration)),
    read: 'string(need.required)',
  });
  const items = earlyItems(needs);
  const early = earlyLists(items);
  const lists = [...lacking, ...early];
  if (lists.length === 0) return undefined;
  const missing: Variable = { name: 'missing', definition: joined(lists) };
  const shown = shownOf(missing, needs.length + items.length);
  const audit = mode === 'Audit' ? ', Audit' : '';
  const intro = cel(0)`${literal(`TolerationPolicy ${name}${audit}: missing tolerations: `)} + ${shown}`;
  const key = resultKey(mode === 'Audit' ? 'Audited' : 'Reported');
  return {
    variables: [TOLERATIONS, ...variables, ...lists, missing],
    validation: {
      holds: isEmpty(missing),
      message: mode === 'Mutate' && mutates ? withPromise(intro, early) : intro,
    },
    auditAnnotations: {
      [key]: cel(0)`${isEmpty(missing)} ? "" : ${literal(`${name}: `)} + ${shown}`,
    },
  };
}

/** With the time at which it will be repaired. An addition does not repair a toleration that ends too early. */
function withPromise(message: Expression, early: readonly Variable[]): Expression {
  const promise = literal('; added with the next change of the pod template');
  if (early.length === 0) return cel(0)`${message} + ${promise}`;
  const lists = early.map(referenced);
  const count = composed(lists, sumOf(lists, 0), (texts) => texts.map((text) => `size(${text})`).join(' + '));
  return cel(10 * early.length)`${message} + (${count} == 0 ? ${promise} : "")`;
}

/** Tolerations that may end earlier than required. */
function earlyItems(needs: readonly ConditionalNeed[]): WeighedItem[] {
  return needs.flatMap(({ required, ranges }) =>
    ranges.flatMap(({ range, unless }) => {
      const item = secondsLiteral(range, required.toleration, { text: formatSeconds(required.toleration) });
      const condition = all([required.condition, not(unless)]);
      return item === undefined ? [] : [{ condition, item: cel(0)`${item}`, weight: SECONDS_WEIGHT }];
    }),
  );
}

/** `early`: those that do. */
function earlyLists(items: readonly WeighedItem[]): Variable[] {
  return dividedLists('early', items, (some) => {
    const list = conditionalList(some);
    return cel(some.length * 40)`${list}.filter(required,
  ${repeated(() => some.length, ENDS_TOO_EARLY)}).map(required, required.text)`;
  });
}

/** The first texts of `missing`, and the number of the others. */
function shownOf(missing: Variable, count: number): Expression {
  const cost = count * (TEXT_LENGTH / 10 + 10 + count);
  if (count <= SHOWN) return cel(cost)`${missing}.join(", ")`;
  const first = cel(0)`${missing}.filter(text, ${missing}.indexOf(text) < ${SHOWN}).join(", ")`;
  return cel(
    cost,
  )`${first} + (size(${missing}) > ${SHOWN} ? " and " + string(size(${missing}) - ${SHOWN}) + " more" : "")`;
}
