/**
 * What comparisons of DaemonSets with nodes or taints may still cost together: labels, requirements, values, tolerations and ages that are compared.
 * Policies name DaemonSets of any user, with any affinity, and every pod can send reviews of policies.
 */
export interface ComparisonBudget {
  left: number;
}

/**
 * For one kind of comparison of all policies of an evaluation, or for one review: a tenth of a second. It suffices to compare ten DaemonSets with 10,000
 * nodes, or 500 DaemonSets that have 25 tolerations each with 32 taints.
 */
export function comparisonBudget(): ComparisonBudget {
  return { left: 400_000 };
}
