import { selects } from '../policy/label-selector.ts';
import type { PolicySelector } from '../policy/label-selector-schema.ts';
import { CONTROL_PLANE_KEY, type Declaration, labelsOf, ownLabels } from './declaration.ts';

type Requirement = NonNullable<PolicySelector['matchExpressions']>[number];

const IS_CONTROL_PLANE: Requirement = { key: CONTROL_PLANE_KEY, operator: 'Exists' };

/** As many values as an expression of a policy's selector may have. */
const MAX_VALUES = 64;

/**
 * The selectors that may stand for the nodes of these machine configurations, all control planes or none: the simplest first.
 * Which of them tells these nodes from others depends on the others.
 */
export function selectorsFor(group: readonly Declaration[]): PolicySelector[] {
  const labels = group.map(ownLabels);
  const shared = [...(labels[0]?.keys() ?? [])].filter((key) => labels.every((each) => each.has(key))).sort();
  const valuesOf = (key: string) => [...new Set(labels.map((each) => each.get(key) ?? ''))].sort();
  const agreed = shared.filter((key) => valuesOf(key).length === 1);
  const varied = shared.filter((key) => valuesOf(key).length > 1 && valuesOf(key).length <= MAX_VALUES);

  const role = group[0]?.configuration.role === 'controlplane' ? [IS_CONTROL_PLANE] : [];
  const matchLabels = Object.fromEntries(agreed.map((key) => [key, labels[0]?.get(key) ?? '']));
  const among = varied.map((key): Requirement => ({ key, operator: 'In', values: valuesOf(key) }));
  return [
    compact({ matchExpressions: role }),
    compact({ matchLabels, matchExpressions: role }),
    compact({ matchLabels, matchExpressions: [...role, ...among] }),
  ].filter(
    (selector) => Object.keys(selector).length > 0 && group.every((declaration) => isFor(selector, declaration)),
  );
}

/** True when the nodes of the machine configuration, with the labels that it declares, are selected. */
export function isFor(selector: PolicySelector, declaration: Declaration): boolean {
  return selects(selector, labelsOf(declaration));
}

function compact({ matchLabels = {}, matchExpressions = [] }: PolicySelector): PolicySelector {
  return {
    ...(Object.keys(matchLabels).length > 0 ? { matchLabels } : {}),
    ...(matchExpressions.length > 0 ? { matchExpressions } : {}),
  };
}
