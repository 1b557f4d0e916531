import type { DaemonSetView } from '../../judge/daemon-set-view.ts';
import type { StoredNode } from '../../judge/node-view.ts';
import type { LabelSelector } from '../../kubernetes/label-selector.ts';
import { TOLERATIONS_PATH } from '../../kubernetes/toleration.ts';
import { asDaemonSet, viewDaemonSet } from '../../objects/daemon-set-object.ts';
import { machineClusterOf } from '../../objects/machine-pool.ts';
import { FIELD_MANAGER, lastWriter, managedFieldsOf } from '../../objects/managed-fields.ts';
import { asNode, taintedSince, viewNode, viewNodeBoot } from '../../objects/node-object.ts';
import { viewNodeStatus } from '../../objects/node-status.ts';
import { viewInstalledDaemonSet } from '../../objects/workload-object.ts';
import type { SchedulingView } from '../../scheduling/coverage.ts';
import { isNodeCritical } from '../../scheduling/node-critical.ts';
import type { Rollout } from '../../scheduling/rollout.ts';
import { limitDaemonSet, limitNode } from './kept-limits.ts';

/** What the controllers keep of a Node: the rest is 40 KB. */
export interface ClusterNode extends StoredNode {
  /** Its condition Ready is True, and it is not being deleted. */
  readonly ready: boolean;
  /** Since when the condition Ready has not been True, in milliseconds since the epoch. */
  readonly unreadySince?: number;
  /** Since when it has had its taints though it is Ready, in milliseconds since the epoch. */
  readonly taintedSince?: number;
  /** NAMESPACE/NAME of the Cluster of Cluster API whose node it is, if it says so. */
  readonly machineCluster?: string;
}

/** What the controllers keep of a DaemonSet. The numbers of its status are 0 where it has none yet. */
export interface ClusterDaemonSet extends DaemonSetView, SchedulingView, Rollout {
  /** `spec.selector`: which pods are its own. It never changes. */
  readonly podSelector: LabelSelector;
  /** See {@link isNodeCritical}. */
  readonly isCritical: boolean;
  /** When taintkeeper last added tolerations, in milliseconds since the epoch. */
  readonly patchedAt?: number;
}

/**
 * {@link projectNode}, limited: see {@link limitNode}. Commands, which read each object once, have no such limits.
 * @throws MalformedObjectError
 */
export function keepNode(object: unknown): ClusterNode {
  return limitNode(projectNode(object));
}

/**
 * {@link projectDaemonSet}, limited: see {@link limitDaemonSet}.
 * @throws MalformedObjectError
 */
export function keepDaemonSet(object: unknown): ClusterDaemonSet {
  return limitDaemonSet(projectDaemonSet(object));
}

/** @throws MalformedObjectError */
export function projectNode(object: unknown): ClusterNode {
  const { metadata, status } = object as {
    metadata: { uid?: string; deletionTimestamp?: string; creationTimestamp?: string };
    status?: { conditions?: readonly { type: string; status: string; lastTransitionTime?: string }[] };
  };
  const condition = status?.conditions?.find(({ type }) => type === 'Ready');
  const ready = condition?.status === 'True';
  const unreadySince = ready ? Number.NaN : Date.parse(condition?.lastTransitionTime ?? '');
  const node = asNode(object, []);
  const machineCluster = machineClusterOf(node);
  const since = taintedSince(node);
  const createdAt = Date.parse(metadata.creationTimestamp ?? '');
  return {
    ...viewNode(node, ''),
    ...viewNodeStatus(node),
    ...viewNodeBoot(node),
    ...(metadata.uid === undefined ? {} : { uid: metadata.uid }),
    ready: ready && metadata.deletionTimestamp === undefined,
    ...(Number.isNaN(unreadySince) ? {} : { unreadySince }),
    ...(machineCluster === undefined ? {} : { machineCluster }),
    ...(since === undefined ? {} : { taintedSince: since }),
    ...(Number.isNaN(createdAt) ? {} : { createdAt }),
  };
}

/** @throws MalformedObjectError */
export function projectDaemonSet(object: unknown): ClusterDaemonSet {
  const daemonSet = object as {
    metadata: { namespace?: string; generation?: number };
    spec: { selector: LabelSelector; updateStrategy?: { type?: string } };
    status?: {
      observedGeneration?: number;
      desiredNumberScheduled?: number;
      currentNumberScheduled?: number;
      updatedNumberScheduled?: number;
      numberUnavailable?: number;
    };
  };
  const { metadata, spec, status = {} } = daemonSet;
  const { nodeName, nodeSelector, nodeAffinity, priorityClass, pluginDirectories } = viewInstalledDaemonSet(
    object,
    [],
    '',
  );
  const own = managedFieldsOf(object).filter(({ manager }) => manager === FIELD_MANAGER);
  const patchedAt = Date.parse(lastWriter(own, TOLERATIONS_PATH)?.time ?? '');
  return {
    ...viewDaemonSet(asDaemonSet(object, []), metadata.namespace ?? '', ''),
    nodeName,
    nodeSelector,
    nodeAffinity,
    generation: metadata.generation ?? 0,
    podSelector: spec.selector,
    isCritical: isNodeCritical(priorityClass, pluginDirectories),
    onDelete: spec.updateStrategy?.type === 'OnDelete',
    ...(Number.isNaN(patchedAt) ? {} : { patchedAt }),
    status: {
      observedGeneration: status.observedGeneration ?? 0,
      desired: status.desiredNumberScheduled ?? 0,
      current: status.currentNumberScheduled ?? 0,
      updated: status.updatedNumberScheduled ?? 0,
      unavailable: status.numberUnavailable ?? 0,
    },
  };
}
