import type { NodeSelectorRequirement, TermMismatch, UnmetRequirement } from './node-affinity.ts';
import { formatTaint, type Taint } from './taint.ts';

/** Something that keeps a DaemonSet's pods off a node. */
export type Obstacle =
  /** One for each taint that is not tolerated. */
  | { readonly kind: 'taint'; readonly taint: Taint }
  /** One for each label of the template's `nodeSelector` that the node does not have like that. */
  | {
      readonly kind: 'nodeSelector';
      readonly key: string;
      readonly wanted: string;
      /** The node's value, if it has the label. */
      readonly found: string | undefined;
    }
  /** No term of the required node affinity matches; here is why, for each of them. */
  | { readonly kind: 'nodeAffinity'; readonly terms: readonly TermMismatch[] }
  /** The template's `nodeName` is that of another node. */
  | { readonly kind: 'nodeName'; readonly wanted: string };

/** The obstacle in one line. What stands in it comes from objects, and may need escaping for a terminal. */
export function formatObstacle(obstacle: Obstacle): string {
  switch (obstacle.kind) {
    case 'taint':
      return `taint ${formatTaint(obstacle.taint)} is not tolerated`;
    case 'nodeSelector':
      return `nodeSelector wants ${obstacle.key}=${obstacle.wanted}, ${formatFound(obstacle.found)}`;
    case 'nodeAffinity':
      return `node affinity: ${obstacle.terms.map(formatMismatch).join(', or ') || 'it has no terms'}`;
    case 'nodeName':
      return `nodeName wants node ${obstacle.wanted}`;
  }
}

/**
 * What keeps pods off in a few words, without what the node has in its place: the same for all nodes on which the reason is
 * the same. What stands in it comes from objects, and may need escaping for a terminal.
 */
export function summarizeObstacle(obstacle: Obstacle): string {
  switch (obstacle.kind) {
    case 'taint':
      return `taint ${formatTaint(obstacle.taint)}`;
    case 'nodeSelector':
      return `nodeSelector ${obstacle.key}=${obstacle.wanted}`;
    case 'nodeAffinity':
      return `affinity ${obstacle.terms.map(({ unmet }) => unmet.map(formatRequirement).join(' and ') || 'to no node').join(', or ')}`;
    case 'nodeName':
      return `nodeName ${obstacle.wanted}`;
  }
}

function formatMismatch({ index, unmet }: TermMismatch): string {
  return unmet.map(formatUnmet).join(' and ') || `term ${index} is empty, which matches no node`;
}

function formatUnmet(unmet: UnmetRequirement): string {
  const wish = formatRequirement(unmet);
  return unmet.malformed ? `${wish}, which is not valid` : `wants ${wish} (${formatFound(unmet.found)})`;
}

/** `zone In [a, b]`, `zone Exists`. */
function formatRequirement({ key, operator, values }: NodeSelectorRequirement): string {
  return values.length > 0 ? `${key} ${operator} [${values.join(', ')}]` : `${key} ${operator}`;
}

function formatFound(found: string | undefined): string {
  return found === undefined ? 'the node has none' : `the node has ${found === '' ? 'an empty one' : found}`;
}
