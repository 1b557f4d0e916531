import type { Workload } from '../coverage/workload.ts';
import { OLD_ROLE } from '../kubernetes/roles.ts';
import type { Policy } from '../policy/policy.ts';
import type { SchedulingNode } from '../scheduling/coverage.ts';

/** A node, with its annotation `allow-removal`, if it has one. */
export interface MigratingNode extends SchedulingNode {
  readonly allowRemoval?: string | undefined;
}

/** The facts on which the migration from the old role to the new one depends. */
export interface MigrationFacts {
  readonly nodes: readonly MigratingNode[];
  readonly workloads: readonly Workload[];
  readonly policies: readonly Policy[];
  /** What is missing in `policies`, why, and what to do, one line each. A missing policy may name the old taint or label. */
  readonly unreadPolicies: readonly string[];
}

export function workloadSelectsByOldLabel({ nodeSelector, nodeAffinity = [] }: Workload): boolean {
  return (
    Object.hasOwn(nodeSelector, OLD_ROLE) ||
    nodeAffinity.some(({ matchExpressions }) => matchExpressions.some(({ key }) => key === OLD_ROLE))
  );
}
