import { type LabelSelector, type LabelSelectorRequirement, own } from './label-selector.ts';

/** All that a selector asks for, one label at a time; nothing for a selector that selects everything. */
export function requirementsOf(selector: LabelSelector = {}): LabelSelectorRequirement[] {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return [
    ...Object.keys(matchLabels).map((key) => ({ key, operator: 'In', values: [own(matchLabels, key) ?? ''] }) as const),
    ...matchExpressions,
  ];
}

/** True when some labels meet all requirements. Exact: labels have no bounds that a list of values could use up. */
export function satisfiable(requirements: readonly LabelSelectorRequirement[]): boolean {
  const byKey = Map.groupBy(requirements, ({ key }) => key);
  return [...byKey.values()].every((ofKey) => absentIsFine(ofKey) || someValueIsFine(ofKey));
}

/** True when whatever meets `requirements` meets `others` as well. */
export function implies(
  requirements: readonly LabelSelectorRequirement[],
  others: readonly LabelSelectorRequirement[],
): boolean {
  return others.every((other) => !satisfiable([...requirements, negated(other)]));
}

/** As `kubectl --selector` has it: `pool=gpu`, `zone in (a, b)`, `!spot`. */
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
  // Without a list to choose from, there is always one more value.
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
