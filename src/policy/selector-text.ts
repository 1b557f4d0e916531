import { isLabelValue, isQualifiedName } from '../kubernetes/names.ts';
import type { PolicySelector } from './selector.ts';

/** The selector that a text contains, or the problem of the text. */
export type SelectorResult =
  | { readonly ok: true; readonly selector: PolicySelector }
  | { readonly ok: false; readonly problem: string };

type MatchExpression = NonNullable<PolicySelector['matchExpressions']>[number];

const EQUALS = /^([^\s=!]+)\s*==?\s*([^\s=!]*)$/;
const DIFFERS = /^([^\s=!]+)\s*!=\s*([^\s=!]*)$/;
const AMONG = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/;
const THERE = /^(!?)\s*([^\s=!]+)$/;

/**
 * Reads a selector as kubectl writes them: `pool=gpu`, `pool in (gpu, tpu)`, `pool!=cpu`, `pool`, `!pool`, and several with
 * commas between (labels.Parse of k8s.io/apimachinery, without its `>` and `<`).
 */
export function parseSelector(text: string): SelectorResult {
  const matchLabels: Record<string, string> = {};
  const matchExpressions: MatchExpression[] = [];
  // A term, and the comma after it. Commas within brackets belong to the term.
  const terms = /((?:[^,()]|\([^()]*\))+)(,|$)/y;
  for (let more = true; more; ) {
    const [, term, comma] = terms.exec(text) ?? [];
    if (term === undefined) return refused(text);
    more = comma === ',';
    const requirement = parseTerm(term.trim());
    if (requirement === undefined) return refused(term.trim() || text);
    if (!isQualifiedName(requirement.key)) {
      return { ok: false, problem: `"${requirement.key}" is no label key: expected NAME or DOMAIN/NAME` };
    }
    if (requirement.operator === 'Equals' && !Object.hasOwn(matchLabels, requirement.key)) {
      matchLabels[requirement.key] = requirement.value;
    } else if (requirement.operator === 'Equals') {
      matchExpressions.push({ key: requirement.key, operator: 'In', values: [requirement.value] });
    } else {
      matchExpressions.push(requirement);
    }
  }
  const selector: PolicySelector = {
    ...(Object.keys(matchLabels).length > 0 ? { matchLabels } : {}),
    ...(matchExpressions.length > 0 ? { matchExpressions } : {}),
  };
  const values = [...Object.values(matchLabels), ...matchExpressions.flatMap(({ values = [] }) => values)];
  const wrong = values.find((value) => !isLabelValue(value));
  return wrong === undefined ? { ok: true, selector } : { ok: false, problem: `"${wrong}" is no label value` };
}

function refused(text: string): SelectorResult {
  return {
    ok: false,
    problem: `expected KEY=VALUE, KEY!=VALUE, KEY in (A, B), KEY notin (A, B), KEY or !KEY, got "${text}"`,
  };
}

type Term = MatchExpression | { readonly key: string; readonly operator: 'Equals'; readonly value: string };

function parseTerm(text: string): Term | undefined {
  const [, equalKey, equalValue] = EQUALS.exec(text) ?? [];
  if (equalKey !== undefined) return { key: equalKey, operator: 'Equals', value: equalValue ?? '' };
  const [, otherKey, otherValue] = DIFFERS.exec(text) ?? [];
  if (otherKey !== undefined) return { key: otherKey, operator: 'NotIn', values: [otherValue ?? ''] };
  const [, setKey, operator, list] = AMONG.exec(text) ?? [];
  if (setKey !== undefined) {
    const values = (list ?? '').split(',').map((value) => value.trim());
    return { key: setKey, operator: operator === 'in' ? 'In' : 'NotIn', values };
  }
  const [, not, key] = THERE.exec(text) ?? [];
  return key === undefined ? undefined : { key, operator: not ? 'DoesNotExist' : 'Exists' };
}
