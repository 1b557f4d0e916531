import type { StringMap } from '../kubernetes/label-selector.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { NodeBoot, StartupBoot } from './node-boot.ts';

/** The part of a Node that policies read. */
export interface NodeView {
  readonly name: string;
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
  /** The annotation {@link ALLOW_REMOVAL_ANNOTATION}, if there is one. */
  readonly allowRemoval: string | undefined;
}

/** What startup taints may wait for in the status of a Node. */
export interface NodeStatus {
  /** The status of each condition of the Node, by its type. */
  readonly conditions?: StringMap;
  /** The resources with more than zero in `status.allocatable` that `readyWhen` can name. Absent if there are none. */
  readonly resources?: readonly string[];
}

/** A Node in a request. */
export interface RequestedNode extends NodeView, NodeBoot {}

/** A stored Node. */
export interface StoredNode extends NodeView, NodeStatus, NodeBoot {
  /** Absent for an object that does not come from an API server. */
  readonly uid?: string;
  /** When the Node was created, in milliseconds since the epoch. Absent if it is unknown, which counts as long ago. */
  readonly createdAt?: number;
}

/** The fields of a Node that mutation or the leader sets. The others stay unchanged. */
export interface DesiredNode extends Pick<NodeView, 'taints' | 'allowRemoval'> {
  /** The boot for which its startup taints are set. Null if the annotation is deleted, absent if it stays unchanged. */
  readonly startupBoot?: StartupBoot | null;
}
