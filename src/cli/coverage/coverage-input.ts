import type { StartupRules } from '../../coverage/startup-rules.ts';
import type { InstalledDaemonSet, Workload } from '../../coverage/workload.ts';
import type { CompiledTolerationPolicy } from '../../policy/compiled-toleration-policy.ts';
import type { PolicyKind } from '../../policy/policy.ts';
import type { SchedulingNode } from '../../scheduling/coverage.ts';
import type { Placement } from '../../scheduling/placement.ts';

/** What to read besides nodes and DaemonSets. */
export interface CoverageReading {
  /** The policies to read. */
  readonly policies: readonly PolicyKind[];
  /**
   * Whether to determine where pods run. Files have no pods. In a cluster, only the pods of a DaemonSet whose status is inconsistent are read.
   */
  readonly pods?: boolean;
  /** Whether to read workloads other than DaemonSets. */
  readonly workloads?: boolean;
}

/** The input of coverage. */
export interface CoverageInput {
  readonly daemonSets: readonly InstalledDaemonSet[];
  readonly nodes: readonly SchedulingNode[];
  /** No entry for a DaemonSet whose pods were not read. */
  readonly placements: ReadonlyMap<InstalledDaemonSet, Placement>;
  /** DaemonSets that the API server would refuse. They are not among the others. */
  readonly refused: readonly RefusedDaemonSet[];
  /** Why files could not be read. */
  readonly unread: readonly string[];
  /** The TolerationPolicies in force. Empty if they were not requested. */
  readonly tolerationPolicies: readonly CompiledTolerationPolicy[];
  /** Workloads other than DaemonSets. Absent if they were not requested. */
  readonly workloads?: readonly Workload[];
  /** Of the TaintPolicies in force. */
  readonly startup: StartupRules;
  /** What could not be read, and why. */
  readonly notes: readonly string[];
}

/** A DaemonSet of a file with a toleration that is not valid. */
export interface RefusedDaemonSet {
  readonly namespace: string;
  readonly name: string;
  /** One line for each problem: `file:line:column: field: message`. */
  readonly problems: readonly string[];
}
