/**
 * Labels or annotations of an object; null is Go's empty string. Read them with {@link ownValue}, because users choose their keys.
 */
export type StringMap = Readonly<Record<string, string | null>>;

/** A LabelSelector of meta/v1. An empty one selects everything. */
export interface LabelSelector {
  readonly matchLabels?: StringMap;
  readonly matchExpressions?: readonly LabelSelectorRequirement[];
}

export interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  /** Needed by `In` and `NotIn`, forbidden for the others. */
  readonly values?: readonly string[];
}

/** The label with its name that the API server sets on each namespace. */
export const NAMESPACE_NAME_LABEL = 'kubernetes.io/metadata.name';

/** The value of `key` if the map itself has it, never an inherited one such as `constructor`. */
export function ownValue(map: StringMap, key: string): string | undefined {
  return Object.hasOwn(map, key) ? (map[key] ?? '') : undefined;
}

/** Whether the labels are equal. */
export function sameLabels(one: StringMap, other: StringMap): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => ownValue(one, key) === ownValue(other, key));
}

/** `a=b,c=d`: labels as text, and in the form of a query's `labelSelector` and kubectl's `-l`. Empty for none. */
export function formatLabels(labels: StringMap): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value ?? ''}`)
    .join(',');
}

/**
 * True when the labels satisfy the whole selector, by the rules of `LabelSelectorAsSelector` in
 * k8s.io/apimachinery/pkg/apis/meta/v1: all terms must hold, and `NotIn` holds where the label is absent.
 */
export function selects(selector: LabelSelector, labels: StringMap): boolean {
  return compileSelector(selector)(labels);
}

/**
 * {@link selects} for many objects. The time for one does not depend on the number of values in the selector. An absent selector selects everything.
 */
export function compileSelector({
  matchLabels = {},
  matchExpressions = [],
}: LabelSelector = {}): (labels: StringMap) => boolean {
  const required = Object.entries(matchLabels);
  const expressions = matchExpressions.map(({ key, operator, values }) => ({ key, operator, values: new Set(values) }));
  return (labels) =>
    required.every(([key, value]) => ownValue(labels, key) === value) &&
    expressions.every((requirement) => satisfies(requirement, labels));
}

interface CompiledRequirement extends Pick<LabelSelectorRequirement, 'key' | 'operator'> {
  readonly values: ReadonlySet<string>;
}

function satisfies({ key, operator, values }: CompiledRequirement, labels: StringMap): boolean {
  const value = ownValue(labels, key);
  switch (operator) {
    case 'In':
      return value !== undefined && values.has(value);
    case 'NotIn':
      return value === undefined || !values.has(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}
