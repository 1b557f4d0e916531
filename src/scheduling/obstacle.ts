import type { NodeSelectorRequirement, TermMismatch, UnmetRequirement } from '../kubernetes/node-affinity.ts';
import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import { formatToleration, type Toleration } from '../kubernetes/toleration.ts';

/** An obstacle that keeps a DaemonSet's pods off a node. */
export type Obstacle =
  /** One for each taint that is not tolerated. */
  | { readonly kind: 'taint'; readonly taint: Taint }
  /** One for each taint that a toleration with the operator `Gt` or `Lt` may tolerate, depending on the cluster's feature gates. */
  | { readonly kind: 'unknown'; readonly taint: Taint; readonly by: Toleration }
  /** The node represents a service that runs no DaemonSets. It is never the only obstacle. */
  | { readonly kind: 'virtualNode'; readonly label: readonly [key: string, value: string] }
  /** One for each label of the template's `nodeSelector` that the node does not have with that value. */
  | {
      readonly kind: 'nodeSelector';
      readonly key: string;
      readonly required: string;
      /** The node's value, if it has the label. */
      readonly found: string | undefined;
    }
  /** No term of the required node affinity matches, with the reason for each of them. */
  | { readonly kind: 'nodeAffinity'; readonly terms: readonly TermMismatch[] }
  /** The template's `nodeName` names another node. */
  | { readonly kind: 'nodeName'; readonly required: string };

/** The obstacle in one line. It contains names of objects, and may need escaping for a terminal. */
export function formatObstacle(obstacle: Obstacle): string {
  switch (obstacle.kind) {
    case 'taint':
      return `taint ${formatTaint(obstacle.taint)} is not tolerated`;
    case 'unknown':
    case 'virtualNode':
      return summarizeObstacle(obstacle);
    case 'nodeSelector':
      return `nodeSelector requires ${obstacle.key}=${obstacle.required}, ${formatFound(obstacle.found)}`;
    case 'nodeAffinity':
      return `node affinity: ${obstacle.terms.map(formatMismatch).join(', or ') || 'it has no terms'}`;
    case 'nodeName':
      return `nodeName requires node ${obstacle.required}`;
  }
}

/**
 * The obstacle in a few words, without the node's values: the same for all nodes with the same reason. It contains names of objects, and may need
 * escaping for a terminal.
 */
export function summarizeObstacle(obstacle: Obstacle): string {
  switch (obstacle.kind) {
    case 'taint':
      return `taint ${formatTaint(obstacle.taint)}`;
    case 'unknown':
      return `unknown: taint ${formatTaint(obstacle.taint)} may be tolerated by ${formatToleration(obstacle.by)}`;
    case 'virtualNode':
      return `virtual node ${obstacle.label.join('=')}`;
    case 'nodeSelector':
      return `nodeSelector ${obstacle.key}=${obstacle.required}`;
    case 'nodeAffinity':
      return `affinity ${obstacle.terms.map(({ unmet }) => unmet.map(formatRequirement).join(' and ') || 'to no node').join(', or ')}`;
    case 'nodeName':
      return `nodeName ${obstacle.required}`;
  }
}

/** The change that prevents pods for the virtual nodes with this label. */
export function excludingVirtualNodes([key, value]: readonly [key: string, value: string]): string {
  return `require by node affinity: ${key} NotIn [${value}]`;
}

function formatMismatch({ index, unmet }: TermMismatch): string {
  return unmet.map(formatUnmet).join(' and ') || `term ${index} is empty, which matches no node`;
}

function formatUnmet(unmet: UnmetRequirement): string {
  const wish = formatRequirement(unmet);
  return unmet.malformed ? `${wish}, which is not valid` : `requires ${wish} (${formatFound(unmet.found)})`;
}

/** `zone In [a, b]`, `zone Exists`. */
function formatRequirement({ key, operator, values }: NodeSelectorRequirement): string {
  return values.length > 0 ? `${key} ${operator} [${values.join(', ')}]` : `${key} ${operator}`;
}

function formatFound(found: string | undefined): string {
  return found === undefined ? 'the node has none' : `the node has ${found === '' ? 'an empty one' : found}`;
}
