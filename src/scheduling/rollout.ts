/** How far the pods of a DaemonSet have got, by its own status. */
export interface Rollout {
  readonly generation: number;
  /** True if its pods are replaced only when a user deletes them. */
  readonly onDelete: boolean;
  readonly status: {
    readonly observedGeneration: number;
    readonly desired: number;
    /** Nodes with a pod, of any template. */
    readonly current: number;
    /** Pods of the current template. */
    readonly updated: number;
    readonly unavailable: number;
  };
}

/**
 * Whether every pod has the current template, except for as many as there are nodes that are not Ready, of those where it runs: a dead node must not
 * block the others forever. With OnDelete there is nothing to wait for.
 */
export function isRolledOut({ generation, onDelete, status }: Rollout, unreadyNodes: number): boolean {
  const { observedGeneration, desired, updated } = status;
  return observedGeneration >= generation && (onDelete || desired - updated <= unreadyNodes);
}

/**
 * Whether pods of an earlier template are being replaced, of which a node that is not Ready may keep one. With OnDelete, a user replaces them. A node
 * without a pod is no part of a rollout: the DaemonSet controller cannot create its pod, or has not yet.
 * @param unreadyNodes how many nodes are not Ready, of those where it runs
 */
export function isRollingOut({ generation, onDelete, status }: Rollout, unreadyNodes: () => number): boolean {
  const { observedGeneration, current, updated } = status;
  if (onDelete) return false;
  return observedGeneration < generation || (current > updated && current - updated > unreadyNodes());
}

/** Whether it is rolled out, and its pods are available, with the same exception. */
export function isHealthy(rollout: Rollout, unreadyNodes: number): boolean {
  return isRolledOut(rollout, unreadyNodes) && rollout.status.unavailable <= unreadyNodes;
}
