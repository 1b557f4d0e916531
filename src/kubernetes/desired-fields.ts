import type { LabelSelectorRequirement } from './label-selector.ts';

/**
 * Whether `actual` has the desired fields. Lists are compared item by item, and maps by the desired fields alone: otherwise a field that a newer
 * API server adds would result in endless writes.
 */
export function hasFields(actual: unknown, desired: unknown): boolean {
  if (Array.isArray(desired)) {
    return (
      Array.isArray(actual) &&
      actual.length === desired.length &&
      desired.every((item, index) => hasFields(actual[index], item))
    );
  }
  if (typeof desired === 'object' && desired !== null) {
    return (
      typeof actual === 'object' &&
      actual !== null &&
      Object.entries(desired).every(([field, value]) => hasFields((actual as Record<string, unknown>)[field], value))
    );
  }
  return actual === desired;
}

/**
 * A LabelSelector for {@link hasFields}, with all requirements in one list. In a map, additions of another writer would not be noticed. The API server
 * omits empty lists.
 */
export function exactSelector(requirements: readonly LabelSelectorRequirement[]) {
  return { matchLabels: undefined, matchExpressions: requirements.length > 0 ? requirements : undefined };
}
