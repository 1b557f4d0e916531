import type { LabelSelectorRequirement } from '../policy/label-selector.ts';

/**
 * A LabelSelector to compare with what is registered: all of it in one list, and what is undefined must not be there. Of a map, what
 * somebody added to it would not be seen; the API server leaves empty lists out.
 */
export function exactSelector(requirements: readonly LabelSelectorRequirement[]) {
  return { matchLabels: undefined, matchExpressions: requirements.length > 0 ? requirements : undefined };
}
