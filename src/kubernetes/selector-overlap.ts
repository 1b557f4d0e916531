import { type LabelSelector, type LabelSelectorRequirement, ownValue } from './label-selector.ts';

/**
 * All requirements of a selector, each for one label. Empty for a selector that selects everything. Without empty lists, which the API server does
 * not store.
 */
export function requirementsOf(selector: LabelSelector = {}): LabelSelectorRequirement[] {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return [
    ...Object.keys(matchLabels).map(
      (key) => ({ key, operator: 'In', values: [ownValue(matchLabels, key) ?? ''] }) as const,
    ),
    ...matchExpressions.map(({ key, operator, values = [] }) => ({
      key,
      operator,
      ...(values.length > 0 ? { values } : {}),
    })),
  ];
}

/** True if some labels meet all requirements. Exact, because there are always more values than a list excludes. */
export function satisfiable(requirements: readonly LabelSelectorRequirement[]): boolean {
  return [...Map.groupBy(requirements, ({ key }) => key).values()].every(satisfiableTogether);
}

/** {@link satisfiable} for requirements of one label. */
function satisfiableTogether(ofKey: readonly LabelSelectorRequirement[]): boolean {
  return absentIsFine(ofKey) || someValueIsFine(ofKey);
}

/** True if all labels that meet `requirements` also meet `others`. */
export function implies(
  requirements: readonly LabelSelectorRequirement[],
  others: readonly LabelSelectorRequirement[],
): boolean {
  const byKey = Map.groupBy(requirements, ({ key }) => key);
  if (![...byKey.values()].every(satisfiableTogether)) return true;
  // Only requirements for the same label are compared: a selector may have dozens of other labels, with thousands of values.
  return others.every((other) => !satisfiableTogether([...(byKey.get(other.key) ?? []), negated(other)]));
}

/** The size limits of a webhook's selector: hundreds of policies may have thousands of values, and etcd accepts 1.5 MB. */
const MAX_SHARED_REQUIREMENTS = 16;
const MAX_SHARED_VALUES = 64;

/**
 * Requirements that every object meets if at least one of the selectors selects it. Each is for one label: a requirement of the first selector that all
 * others imply, or that the label exists, or has one of the required values. Empty if one of the selectors selects everything. For very large
 * selectors, some are left out.
 */
export function requirementsOfAny(selectors: readonly (LabelSelector | undefined)[]): LabelSelectorRequirement[] {
  const byKey = selectors.map((selector) => Map.groupBy(requirementsOf(selector), ({ key }) => key));
  // The first selector has every label that all selectors require, so no other labels need to be checked.
  const shared = [...(byKey[0]?.keys() ?? [])].flatMap((key) =>
    sharedOf(
      key,
      byKey.map((requirements) => requirements.get(key) ?? []),
    ),
  );
  return shared.slice(0, MAX_SHARED_REQUIREMENTS);
}

/** @param each the requirements of each selector for the label `key` */
function sharedOf(key: string, each: readonly LabelSelectorRequirement[][]): LabelSelectorRequirement[] {
  const [first = []] = each;
  const same = first.filter((one) => each.every((ofKey) => implies(ofKey, [one])));
  if (same.length > 0 || !each.every((ofKey) => implies(ofKey, [{ key, operator: 'Exists' }]))) return same;
  const lists = each.map((ofKey) => ofKey.find(({ operator }) => operator === 'In')?.values);
  const values = new Set(lists.flatMap((list) => list ?? []));
  return lists.every(Boolean) && values.size <= MAX_SHARED_VALUES
    ? [{ key, operator: 'In', values: [...values].sort() }]
    : [{ key, operator: 'Exists' }];
}

/** A selector as `kubectl --selector` and the query parameter `labelSelector` take it; empty for one that selects everything. */
export function formatSelector(selector: LabelSelector): string {
  return requirementsOf(selector).map(formatRequirement).join(',');
}

/** As `kubectl --selector` takes it: `pool=gpu`, `zone in (a, b)`, `!spot`. */
export function formatRequirement({ key, operator, values = [] }: LabelSelectorRequirement): string {
  switch (operator) {
    case 'In':
      return values.length === 1 ? `${key}=${values[0]}` : `${key} in (${values.join(', ')})`;
    case 'NotIn':
      return values.length === 1 ? `${key}!=${values[0]}` : `${key} notin (${values.join(', ')})`;
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
  }
}

function absentIsFine(requirements: readonly LabelSelectorRequirement[]): boolean {
  return requirements.every(({ operator }) => operator === 'NotIn' || operator === 'DoesNotExist');
}

function someValueIsFine(requirements: readonly LabelSelectorRequirement[]): boolean {
  if (requirements.some(({ operator }) => operator === 'DoesNotExist')) return false;
  const lists = (operator: 'In' | 'NotIn') =>
    requirements.filter((requirement) => requirement.operator === operator).map(({ values = [] }) => new Set(values));
  const [first, ...others] = lists('In');
  // Without a list of values, there is always one more value.
  if (first === undefined) return true;
  const excluded = lists('NotIn');
  return [...first].some(
    (value) => others.every((values) => values.has(value)) && !excluded.some((values) => values.has(value)),
  );
}

function negated(requirement: LabelSelectorRequirement): LabelSelectorRequirement {
  const { operator } = requirement;
  switch (operator) {
    case 'In':
      return { ...requirement, operator: 'NotIn' };
    case 'NotIn':
      return { ...requirement, operator: 'In' };
    case 'Exists':
      return { key: requirement.key, operator: 'DoesNotExist' };
    case 'DoesNotExist':
      return { key: requirement.key, operator: 'Exists' };
  }
}
