import { namespacedPath } from '../cluster/client/object-path.ts';
import {
  type ClusterDaemonSet,
  type ClusterNode,
  projectDaemonSet,
  projectNode,
} from '../cluster/objects/cluster-objects.ts';
import { type LeftBehind, leftOnDaemonSet, leftOnNode } from '../judge/left-behind.ts';
import { carriedStartup } from '../judge/startup/startup-requirement.ts';
import type { StringMap } from '../kubernetes/label-selector.ts';
import { sameTaint, type Taint } from '../kubernetes/taint.ts';
import type { Toleration } from '../kubernetes/toleration.ts';
import { managedFieldsOf } from '../objects/managed-fields.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { type StayingTolerations, stayingTolerations } from './staying-tolerations.ts';

/** A Node or a DaemonSet, and what taintkeeper left on it. */
export type Leftover = LeftOnNode | LeftOnDaemonSet;

export interface LeftOnNode extends LeftBehind {
  readonly resource: 'nodes';
  readonly namespace?: undefined;
  readonly name: string;
  readonly value: ClusterNode;
  /** `spec.taints` as the API server returned it. */
  readonly taints: readonly Taint[];
  /** The startup taints of the node that wait for `readyWhen`: only taintkeeper removes them. */
  readonly startupTaints: readonly Taint[];
}

export interface LeftOnDaemonSet extends LeftBehind {
  readonly resource: 'daemonsets';
  readonly namespace: string;
  readonly name: string;
  readonly value: ClusterDaemonSet;
  readonly resourceVersion: string | undefined;
  /** Undefined if all added tolerations can be removed. */
  readonly staying: StayingTolerations | undefined;
}

/** @throws MalformedObjectError */
export function readNode(object: unknown, policies: readonly CompiledTaintPolicy[]): LeftOnNode {
  const value = projectNode(object);
  const { metadata, spec } = object as {
    metadata: { annotations?: StringMap };
    spec?: { taints?: readonly Taint[] };
  };
  const taints = spec?.taints ?? [];
  // Whether the node is ready does not matter: nothing will remove the taints afterwards.
  const carried = carriedStartup(value, policies);
  const startupTaints = taints.filter((taint) => carried.some((one) => sameTaint(one.taint, taint)));
  return {
    resource: 'nodes',
    name: value.name,
    value,
    taints,
    startupTaints,
    ...leftOnNode(metadata.annotations ?? {}),
  };
}

/** @throws MalformedObjectError */
export function readDaemonSet(object: unknown): LeftOnDaemonSet {
  const value = projectDaemonSet(object);
  const { namespace, name, annotations, tolerations } = value;
  const { resourceVersion } = (object as { metadata: { resourceVersion?: string } }).metadata;
  const left = leftOnDaemonSet(annotations, tolerations);
  const staying = stayingTolerations(left.tolerationIndexes, tolerations, annotations, managedFieldsOf(object));
  return { resource: 'daemonsets', namespace, name, value, resourceVersion, staying, ...left };
}

/** The startup taints that are left. */
export function startupTaintsOn(leftover: Leftover): readonly Taint[] {
  return leftover.resource === 'nodes' ? leftover.startupTaints : [];
}

/** The indexes, in order, of the added tolerations that can be removed. */
export function removableIndexes(leftover: Leftover): number[] {
  if (leftover.resource === 'nodes') return [];
  return leftover.tolerationIndexes.filter((index) => !leftover.staying?.indexes.includes(index));
}

/** The added tolerations that can be removed. */
export function removableOn(leftover: Leftover): Toleration[] {
  return tolerationsAt(leftover, removableIndexes(leftover));
}

/** The added tolerations that are not removed: see {@link StayingTolerations}. */
export function stayingOn(leftover: Leftover): Toleration[] {
  return leftover.resource === 'nodes' ? [] : tolerationsAt(leftover, leftover.staying?.indexes ?? []);
}

function tolerationsAt(leftover: Leftover, indexes: readonly number[]): Toleration[] {
  if (leftover.resource === 'nodes') return [];
  return leftover.value.tolerations.filter((_, index) => indexes.includes(index));
}

/** The path of the object in the API. */
export function pathOf({ resource, namespace, name }: Leftover): string {
  return resource === 'nodes'
    ? `/api/v1/nodes/${name}`
    : namespacedPath('/apis/apps/v1', namespace, 'daemonsets', name);
}
