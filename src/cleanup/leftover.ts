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
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';

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
  return { resource: 'daemonsets', namespace, name, value, ...leftOnDaemonSet(annotations, tolerations) };
}

/** The startup taints that are left. */
export function startupTaintsOn(leftover: Leftover): readonly Taint[] {
  return leftover.resource === 'nodes' ? leftover.startupTaints : [];
}

/** The added tolerations that the DaemonSet still has. */
export function addedTolerationsOn(leftover: Leftover): Toleration[] {
  if (leftover.resource === 'nodes') return [];
  const { value, tolerationIndexes } = leftover;
  return value.tolerations.filter((_, index) => tolerationIndexes.includes(index));
}

/** The path of the object in the API. */
export function pathOf({ resource, namespace, name }: Leftover): string {
  return resource === 'nodes'
    ? `/api/v1/nodes/${name}`
    : namespacedPath('/apis/apps/v1', namespace, 'daemonsets', name);
}
