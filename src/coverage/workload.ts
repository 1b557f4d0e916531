import type { DaemonSetView } from '../judge/daemon-set-view.ts';
import { RELEASE_ANNOTATION } from '../kubernetes/helm.ts';
import { ownValue } from '../kubernetes/label-selector.ts';
import type { SchedulingView } from '../scheduling/coverage.ts';

export const WORKLOAD_KINDS = ['DaemonSet', 'Deployment', 'StatefulSet', 'CronJob'] as const;
export type WorkloadKind = (typeof WORKLOAD_KINDS)[number];

/** A kind that creates pods from a template. */
export interface Workload extends SchedulingView {
  readonly kind: WorkloadKind;
  /** What reverts a manual change, if it is named: its controller, or the manager of its manifest. */
  readonly managedBy: string | undefined;
}

/** `DaemonSet kube-system/etcd-backup`. */
export function workloadName({ kind, namespace, name }: Workload): string {
  return `${kind} ${namespace}/${name}`;
}

/** A DaemonSet with the fields that decide about gaps and policies. */
export type FixableDaemonSet = SchedulingView & Pick<DaemonSetView, 'annotations' | 'labels'>;

/** A DaemonSet, and the fields that show its source. */
export interface InstalledDaemonSet extends FixableDaemonSet {
  /** The object whose controller would revert a change. */
  readonly controller: { readonly kind: string; readonly name: string } | undefined;
  /** `priorityClassName` of the template; empty if it names none. */
  readonly priorityClass: string;
  /** The plugin directories of the node that the template mounts to write to. */
  readonly pluginDirectories: readonly string[];
}

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/ */
const MANAGED_BY = 'app.kubernetes.io/managed-by';

/** What reverts a manual change of an object, if the object names it: its controller, or the manager of its manifest. */
export function managerOf({
  labels,
  annotations,
  controller,
}: Pick<InstalledDaemonSet, 'labels' | 'annotations' | 'controller'>): string | undefined {
  if (controller) return `${controller.kind} ${controller.name}`;
  const release = ownValue(annotations, RELEASE_ANNOTATION);
  return release === undefined ? ownValue(labels, MANAGED_BY) : `Helm, for release ${release}`;
}
