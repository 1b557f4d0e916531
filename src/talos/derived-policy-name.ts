import type { PolicySelector } from '../policy/selector.ts';
import { CONTROL_PLANE_KEY } from './node-declaration.ts';

/** Short enough for a label's value, with room for a number. */
const MAX_LENGTH = 60;

/**
 * A name for the policy of the selected nodes, by its selector: the same as long as the selector stays.
 * @param taken the names of other policies; the new one is added
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
