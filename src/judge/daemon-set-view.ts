import { ownValue, type StringMap } from '../kubernetes/label-selector.ts';
import type { Toleration } from '../kubernetes/toleration.ts';

/** The annotation by which a DaemonSet opts out. Any value except `false` counts. */
export const IGNORE_ANNOTATION = 'taintkeeper.dev/ignore';

/** The part of a DaemonSet that policies read. */
export interface DaemonSetView {
  readonly namespace: string;
  readonly name: string;
  readonly labels: StringMap;
  readonly annotations: StringMap;
  /** Of the pod template. */
  readonly tolerations: readonly Toleration[];
  /** Of the pod template. The DaemonSet controller adds one more toleration to such pods. */
  readonly hostNetwork: boolean;
  /** True when it has a deletionTimestamp. */
  readonly deleting: boolean;
}

/** The fields of a DaemonSet that mutation or the leader sets. The others stay unchanged. */
export interface DesiredDaemonSet {
  readonly tolerations: readonly Toleration[];
}

/**
 * A DaemonSet with more tolerations is not changed: each is compared with the required tolerations of all policies, and no real DaemonSet has as
 * many. This gives its author no new right, because the author may also opt out.
 */
export const MAX_TOLERATIONS = 256;

export function hasTooManyTolerations({ tolerations }: Pick<DaemonSetView, 'tolerations'>): boolean {
  return tolerations.length > MAX_TOLERATIONS;
}

/** Whether the owner of the DaemonSet opted out, by {@link IGNORE_ANNOTATION}. */
export function optsOut({ annotations }: Pick<DaemonSetView, 'annotations'>): boolean {
  return (ownValue(annotations, IGNORE_ANNOTATION) ?? 'false') !== 'false';
}

/** Whether no policy applies to the DaemonSet: it opted out, or is being deleted. */
export function isLeftAlone(daemonSet: Pick<DaemonSetView, 'annotations' | 'deleting'>): boolean {
  return daemonSet.deleting || optsOut(daemonSet);
}
