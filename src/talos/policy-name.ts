import type { PolicySelector } from '../policy/label-selector-schema.ts';
import { CONTROL_PLANE_KEY } from './declaration.ts';

/** Short enough to be a label's value, too, and to leave room for a number. */
const MAX_LENGTH = 60;

/**
 * A name for the policy of the selected nodes, by what selects them: the same one each time, as long as that stays.
 * @param taken names that other policies have; the new one is put in
 */
export function policyName(selector: PolicySelector, taken: Set<string>): string {
  const terms = [
    ...Object.entries(selector.matchLabels ?? {}).map(([key, value]) => [key, value ?? '']),
    ...(selector.matchExpressions ?? []).map(({ key, operator, values = [] }) =>
      key === CONTROL_PLANE_KEY && operator === 'Exists'
        ? ['control-planes']
        : [key, ...(operator === 'In' || operator === 'Exists' ? [] : [operator]), ...values],
    ),
  ];
  const words = terms.flat().map((word) => word.slice(word.indexOf('/') + 1));
  const base = `talos-${words.join('-')}`
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_LENGTH)
    .replace(/-$/, '');
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? base : `${base}-${number}`;
    if (taken.has(name)) continue;
    taken.add(name);
    return name;
  }
}
