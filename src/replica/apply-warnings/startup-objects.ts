import type { ApiClient } from '../../cluster/client/api-client.ts';
import { AnswerTooLongError, isForbidden } from '../../cluster/client/api-error.ts';
import { findObject } from '../../cluster/client/find-object.ts';
import { namespacedPath } from '../../cluster/client/object-path.ts';
import { listReplicas } from '../../cluster/installation/replica-pods.ts';
import type { ServiceRef } from '../../cluster/installation/service-ref.ts';
import { type ClusterDaemonSet, keepDaemonSet } from '../../cluster/objects/cluster-objects.ts';
import { CSI_NODES, viewCsiNode } from '../../objects/csi-node-object.ts';
import { MalformedObjectError } from '../../objects/object-schema.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { daemonSetName, type ReadyDaemonSet } from '../../policy/ready-when.ts';

/** What the startup taints of a policy wait for. */
export interface StartupObjects {
  /** Taintkeeper's own pods. None for a policy without startup taints that wait. */
  readonly replicas: Awaited<ReturnType<typeof listReplicas>>;
  /** By {@link daemonSetName}. Undefined for one that does not exist. Without those that are not read. */
  readonly daemonSets: ReadonlyMap<string, ClusterDaemonSet | undefined>;
  /** Those of each namespace of `allDaemonSets`, or the first of them. */
  readonly byNamespace: ReadonlyMap<string, readonly ClusterDaemonSet[]>;
  /** The CSI drivers of all CSINodes. Undefined if there is no CSINode, or if not all are read. */
  readonly drivers: ReadonlySet<string> | undefined;
}

/** If a policy names more DaemonSets and namespaces, only the first are read: each costs a request, and every pod can send reviews. */
const MOST_REQUESTS = 16;
/** The DaemonSets of a namespace, and the CSINodes, that are read. */
const MOST_LISTED = 32;
/** All of them are read at once, and a DaemonSet of more than 100 KB is rare. */
const MOST_BYTES = 1024 * 1024;

/** Reads them within a limited number of requests. */
export async function readStartupObjects(
  client: ApiClient,
  service: ServiceRef,
  { untilReady }: CompiledTaintPolicy,
  signal: AbortSignal,
): Promise<StartupObjects> {
  const parts = untilReady.map((one) => one.parts);
  const awaited = firstOf(
    parts.flatMap(({ daemonSets }) => daemonSets.map((one) => [daemonSetName(one), one] as const)),
    MOST_REQUESTS,
  );
  const namespaces = firstOf(
    parts.flatMap(({ allDaemonSets }) => allDaemonSets.flatMap((all) => all.namespaces ?? []).map((one) => [one, one])),
    MOST_REQUESTS - awaited.size,
  );
  const [replicas, daemonSets, byNamespace, drivers] = await Promise.all([
    untilReady.length === 0 ? [] : listReplicas(client, service, signal),
    readEach(awaited, (one) => readDaemonSet(client, one, signal)),
    readEach(namespaces, (namespace) => listDaemonSets(client, namespace, signal)),
    parts.some(({ csiDrivers }) => csiDrivers.length > 0) ? listCsiDrivers(client, signal) : undefined,
  ]);
  return { replicas, daemonSets, byNamespace, drivers };
}

/** The items by their names, without those after the first `most`. */
function firstOf<Item>(items: readonly (readonly [string, Item])[], most: number): ReadonlyMap<string, Item> {
  return new Map([...new Map(items)].slice(0, most));
}

/** Without what cannot be read because its author made it too large, or because of its fields. */
async function readEach<Named, Found>(
  named: ReadonlyMap<string, Named>,
  read: (one: Named) => Promise<Found>,
): Promise<ReadonlyMap<string, Found>> {
  const found = await Promise.all(
    Array.from(named, async ([name, one]): Promise<readonly (readonly [string, Found])[]> => {
      try {
        return [[name, await read(one)]];
      } catch (error) {
        if (error instanceof MalformedObjectError) return [];
        throw error;
      }
    }),
  );
  return new Map(found.flat());
}

async function listCsiDrivers(client: ApiClient, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
  try {
    const { items, metadata } = await client.request<{
      readonly items: readonly object[] | null;
      readonly metadata?: { readonly continue?: string };
    }>('GET', CSI_NODES, { query: { limit: MOST_LISTED }, signal, mostBytes: MOST_BYTES });
    if (!items?.length || metadata?.continue) return undefined;
    return new Set(items.flatMap((object) => viewCsiNode(object).drivers));
  } catch (error) {
    // The right to list them is off by default, and a kubelet may write a long CSINode.
    if (isForbidden(error) || error instanceof AnswerTooLongError) return undefined;
    throw error;
  }
}

/**
 * The first of a namespace: more would be too long. Without those that cannot be read.
 * @throws MalformedObjectError if none of them can
 */
async function listDaemonSets(client: ApiClient, namespace: string, signal: AbortSignal): Promise<ClusterDaemonSet[]> {
  const path = namespacedPath('/apis/apps/v1', namespace, 'daemonsets');
  const options = { query: { limit: MOST_LISTED }, signal, mostBytes: MOST_BYTES };
  const { items } = await client.request<{ readonly items: readonly object[] }>('GET', path, options);
  const faults: MalformedObjectError[] = [];
  const kept = items.flatMap((object) => {
    try {
      return keepDaemonSet(object);
    } catch (error) {
      if (!(error instanceof MalformedObjectError)) throw error;
      faults.push(error);
      return [];
    }
  });
  if (kept.length === 0 && faults[0]) throw faults[0];
  return kept;
}

async function readDaemonSet(
  client: ApiClient,
  { namespace, name }: ReadyDaemonSet,
  signal: AbortSignal,
): Promise<ClusterDaemonSet | undefined> {
  const path = namespacedPath('/apis/apps/v1', namespace, 'daemonsets', name);
  const object = await findObject(client, path, { signal, mostBytes: MOST_BYTES });
  return object === undefined ? undefined : keepDaemonSet(object);
}
