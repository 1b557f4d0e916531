import type { ApiClient } from '../../cluster/client/api-client.ts';
import { findObject } from '../../cluster/client/find-object.ts';
import { listObjects } from '../../cluster/list/list-objects.ts';
import { listPodReadinessOn } from '../../cluster/nodes/node-pods.ts';
import { keepDaemonSet } from '../../cluster/objects/cluster-objects.ts';
import type { NamespacedName } from '../../explain/daemon-explained.ts';
import type { CsiNodeView } from '../../judge/startup/csi-drivers.ts';
import type { KnownDaemonSet } from '../../judge/startup/daemon-readiness.ts';
import type { StartupSources } from '../../judge/startup/startup-readiness.ts';
import type { StartupRequirement } from '../../judge/startup/startup-requirement.ts';
import { CSI_NODES, viewCsiNode } from '../../objects/csi-node-object.ts';
import { MalformedObjectError } from '../../objects/object-schema.ts';
import { daemonSetName, needDaemonSets, type ReadyDaemonSet } from '../../policy/ready-when.ts';
import { pathOf } from './explained-object.ts';

/** What the startup taints of a node depend on. @throws ApiError */
export async function readStartupSources(
  client: ApiClient,
  node: string,
  carried: readonly StartupRequirement[],
): Promise<StartupSources> {
  const named = new Map(carried.flatMap(({ parts }) => parts.daemonSets).map((one) => [daemonSetName(one), one]));
  const pods = carried.some(({ parts }) => needDaemonSets(parts)) ? await listPodReadinessOn(client, node) : [];
  const needsCsiNode = carried.some(({ parts }) => parts.csiDrivers.length > 0);
  const csiNode = needsCsiNode ? await readCsiNode(client, node) : undefined;
  const existing = carried.some(({ parts }) => parts.allDaemonSets.length > 0)
    ? await listObjects(client, '/apis/apps/v1/daemonsets', viewAsLeader)
    : (await Promise.all(Array.from(named.values(), (one) => readDaemonSet(client, one)))).filter(
        (one) => one !== undefined,
      );
  const known = existing.filter((one) => 'value' in one);
  const unreadable = existing.filter((one) => 'namespace' in one);
  const byName = new Map(known.map((one) => [daemonSetName(one.value), one]));
  return {
    daemonSets: () => ({
      value: { get: (one) => byName.get(daemonSetName(one)), all: () => known, unreadable: () => unreadable },
    }),
    pods: () => ({ value: pods }),
    csiNode: () => ({ value: csiNode }),
  };
}

async function readCsiNode(client: ApiClient, node: string): Promise<CsiNodeView | undefined> {
  const object = await findObject(client, `${CSI_NODES}/${encodeURIComponent(node)}`);
  return object === undefined ? undefined : viewCsiNode(object);
}

/** A DaemonSet that the leader cannot read has only its name. */
function viewAsLeader(object: unknown): KnownDaemonSet | ReadyDaemonSet {
  const { uid, namespace, name } = (object as { metadata: NamespacedName & { uid: string } }).metadata;
  try {
    return { uid, value: keepDaemonSet(object) };
  } catch (error) {
    if (error instanceof MalformedObjectError) return { namespace, name };
    throw error;
  }
}

async function readDaemonSet(
  client: ApiClient,
  place: NamespacedName,
): Promise<KnownDaemonSet | ReadyDaemonSet | undefined> {
  const object = await findObject(client, pathOf('daemonset', place));
  return object === undefined ? undefined : viewAsLeader(object);
}
