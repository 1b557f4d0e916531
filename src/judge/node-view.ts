import { own, type StringMap } from '../kubernetes/label-selector.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { StartupBoot } from './node-boot.ts';

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

/** What mutation, or the leader, makes of a Node: the rest of the object stays as it is. */
export interface DesiredNode extends Pick<NodeView, 'taints' | 'allowRemoval'> {
  /** The boot for which its startup taints are set. Absent: what the Node says of it stays. */
  readonly startupBoot?: StartupBoot;
}
