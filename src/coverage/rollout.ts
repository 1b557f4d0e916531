/** How far the pods of a DaemonSet have got, by its own status. */
export interface Rollout {
  readonly generation: number;
  /** True when its pods are replaced only once somebody deletes them. */
  readonly onDelete: boolean;
  readonly status: {
    readonly observedGeneration: number;
    readonly desired: number;
    /** Pods of the present template. */
    readonly updated: number;
    readonly unavailable: number;
  };
}

/**
 * Whether every pod is of the present template, but for as many as there are nodes that are not Ready, of those where it runs: one
 * that is dead must not hold up the others for ever. With OnDelete there is nothing to wait for.
 */
export function isRolledOut({ generation, onDelete, status }: Rollout, unreadyNodes: number): boolean {
  const { observedGeneration, desired, updated } = status;
  return observedGeneration >= generation && (onDelete || desired - updated <= unreadyNodes);
}

/** Whether it is rolled out, and its pods are available, with the same exception. */
export function isHealthy(rollout: Rollout, unreadyNodes: number): boolean {
  return isRolledOut(rollout, unreadyNodes) && rollout.status.unavailable <= unreadyNodes;
}
