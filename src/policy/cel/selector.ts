import type { LabelSelector, LabelSelectorRequirement } from '../label-selector.ts';
import { all, any, type Expression, literal, literals, not, other, type Variable } from './expression.ts';

const KEY_COST = 3;
const VALUE_COST = 10;

/** True when the labels, a map in CEL, satisfy the whole selector: {@link selects} in CEL. */
export function selectsIn(labels: string, selector: LabelSelector | undefined): Expression {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  return all([
    ...Object.entries(matchLabels).map(([key, value]) =>
      requirement(labels, { key, operator: 'In', values: [value ?? ''] }),
    ),
    ...matchExpressions.map((expression) => requirement(labels, expression)),
  ]);
}

function requirement(labels: string, { key, operator, values = [] }: LabelSelectorRequirement): Expression {
  // Neither in a key of a selector nor in one of an object: nothing can carry such a label.
  const exists = key.isWellFormed() ? other(`${literal(key)} in ${labels}`, KEY_COST, [labels]) : any([]);
  switch (operator) {
    case 'In':
      return all([exists, valueIn(labels, key, values)]);
    case 'NotIn':
      return not(all([exists, valueIn(labels, key, values)]));
    case 'Exists':
      return exists;
    case 'DoesNotExist':
      return not(exists);
  }
}

function valueIn(labels: string, key: string, values: readonly string[]): Expression {
  const possible = values.filter((value) => value.isWellFormed());
  const [first] = possible;
  if (first === undefined) return any([]);
  const value = `${labels}[${literal(key)}]`;
  const comparison = possible.length === 1 ? `== ${literal(first)}` : `in ${literals(possible)}`;
  return other(`${value} ${comparison}`, VALUE_COST + possible.length, [labels]);
}

/** The labels of the node before an update. */
export const LABELS_BEFORE: Variable = { name: 'oldLabels', definition: labelsOf('oldObject') };
/** The labels of the object as it will be. */
export const LABELS: Variable = { name: 'labels', definition: labelsOf('object') };

function labelsOf(object: 'object' | 'oldObject'): Expression {
  return other(`has(${object}.metadata.labels) ? ${object}.metadata.labels : {}`, 40);
}
