import { selects } from '../kubernetes/label-selector.ts';
import type { PolicySelector } from '../policy/selector.ts';
import { CONTROL_PLANE_KEY, labelsOf, type NodeDeclaration, ownLabels } from './node-declaration.ts';

type Requirement = NonNullable<PolicySelector['matchExpressions']>[number];

const IS_CONTROL_PLANE: Requirement = { key: CONTROL_PLANE_KEY, operator: 'Exists' };

/** The maximum number of values in an expression of a policy's selector. */
const MAX_VALUES = 64;

/**
 * Possible selectors for the nodes of these machine configurations, all of them control planes or none: the simplest first. Which of them excludes
 * other nodes depends on the other nodes.
 */
export function selectorsFor(group: readonly NodeDeclaration[]): PolicySelector[] {
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

/** True if the nodes of the machine configuration, with its declared labels, are selected. */
export function isFor(selector: PolicySelector, declaration: NodeDeclaration): boolean {
  return selects(selector, labelsOf(declaration));
}

function compact({ matchLabels = {}, matchExpressions = [] }: PolicySelector): PolicySelector {
  return {
    ...(Object.keys(matchLabels).length > 0 ? { matchLabels } : {}),
    ...(matchExpressions.length > 0 ? { matchExpressions } : {}),
  };
}
