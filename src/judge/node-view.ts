import { own, type StringMap } from '../kubernetes/label-selector.ts';
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

/** Whether the labels are equal. */
export function sameLabels(
  { labels: one }: Pick<NodeView, 'labels'>,
  { labels: other }: Pick<NodeView, 'labels'>,
): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => own(one, key) === own(other, key));
}

/** What startup taints may wait for in the status of a Node. */
export interface NodeStatus {
  /** The status of each condition of the Node, by its type. */
  readonly conditions?: StringMap;
  /** The resources of which `status.allocatable` has more than zero, as far as `readyWhen` can name them. Absent if there are none. */
  readonly resources?: readonly string[];
}

/** A Node as a request has it. */
export interface RequestedNode extends NodeView, NodeBoot {}

/** A Node as the API server has it. */
export interface StoredNode extends NodeView, NodeStatus, NodeBoot {
  /** Absent for an object that does not come from an API server. */
  readonly uid?: string;
  /** When the Node was created, in milliseconds since the epoch. Absent where that is not known: it is taken for long ago. */
  readonly createdAt?: number;
}

/** What mutation, or the leader, makes of a Node: the rest of the object stays as it is. */
export interface DesiredNode extends Pick<NodeView, 'taints' | 'allowRemoval'> {
  /** The boot for which its startup taints are set. Absent: what the Node says of it stays. */
  readonly startupBoot?: StartupBoot;
}
