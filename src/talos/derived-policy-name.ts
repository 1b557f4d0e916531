import { nameHash } from '../kubernetes/name-hash.ts';
import type { PolicySelector } from '../policy/selector.ts';
import { CONTROL_PLANE_KEY } from './node-declaration.ts';

/** Short enough for a label's value, with room for a number. */
const MAX_LENGTH = 60;

/** A label with these words is the only one with its name. The name of control planes is theirs. */
const PLAIN_LABEL = /^(?!control=planes$)[a-z0-9]+=[a-z0-9]+(-[a-z0-9]+)*$/;

/**
 * A name for the policy of the selected nodes, by its selector: the same as long as the selector stays, and another one for another selector. So a
 * policy from one run does not replace that of another run.
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
  const text = `talos-${words.join('-')}`.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  // No plain name has a dot.
  const end = isPlain(selector, text) ? '' : `.${nameHash(selector)}`;
  const base = `${text.slice(0, MAX_LENGTH - end.length).replace(/-$/, '')}${end}`;
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? base : `${base}.${number}`;
    if (taken.has(name)) continue;
    taken.add(name);
    return name;
  }
}

/** Whether the text has all that the selector says. */
function isPlain({ matchLabels = {}, matchExpressions = [] }: PolicySelector, text: string): boolean {
  const labels = Object.entries(matchLabels);
  if (text.length > MAX_LENGTH || labels.length + matchExpressions.length !== 1) return false;
  return labels.length === 1
    ? labels.every(([key, value]) => PLAIN_LABEL.test(`${key}=${value}`))
    : matchExpressions.every(({ key, operator }) => key === CONTROL_PLANE_KEY && operator === 'Exists');
}
