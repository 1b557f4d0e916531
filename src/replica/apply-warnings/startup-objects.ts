import type { ApiClient } from '../../cluster/client/api-client.ts';
import { findObject } from '../../cluster/client/find-object.ts';
import { namespacedPath } from '../../cluster/client/object-path.ts';
import { listReplicas } from '../../cluster/installation/replica-pods.ts';
import type { ServiceRef } from '../../cluster/installation/service-ref.ts';
import { type ClusterDaemonSet, keepDaemonSet } from '../../cluster/objects/cluster-objects.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { daemonSetName, type ReadyDaemonSet } from '../../policy/ready-when.ts';

/** What the startup taints of a policy wait for. */
export interface StartupObjects {
  /** Taintkeeper's own pods. None for a policy without startup taints that wait. */
  readonly replicas: Awaited<ReturnType<typeof listReplicas>>;
  /** By {@link daemonSetName}. Undefined for one that does not exist. */
  readonly daemonSets: ReadonlyMap<string, ClusterDaemonSet | undefined>;
  /** Those of each namespace of `allDaemonSets`, or the first of them. */
  readonly byNamespace: ReadonlyMap<string, readonly ClusterDaemonSet[]>;
}

/** A policy that names more DaemonSets and namespaces gets no warnings: each costs a request, and every pod can send reviews. */
const MOST_REQUESTS = 16;
/** The DaemonSets of a namespace that are read. */
const MOST_LISTED = 32;
/** All of them are read at once, and a DaemonSet of more than 100 KB is rare. */
const MOST_BYTES = 1024 * 1024;

/** @returns undefined if it would need too many requests */
export async function readStartupObjects(
  client: ApiClient,
  service: ServiceRef,
  { untilReady }: CompiledTaintPolicy,
  signal: AbortSignal,
): Promise<StartupObjects | undefined> {
  const parts = untilReady.map((one) => one.parts);
  const awaited = new Map(parts.flatMap(({ daemonSets }) => daemonSets.map((one) => [daemonSetName(one), one])));
  const namespaces = new Set(
    parts.flatMap(({ allDaemonSets }) => allDaemonSets.flatMap((all) => all.namespaces ?? [])),
  );
  if (awaited.size + namespaces.size > MOST_REQUESTS) return undefined;
  const [replicas, daemonSets, byNamespace] = await Promise.all([
    untilReady.length === 0 ? [] : listReplicas(client, service, signal),
    readEach(awaited, (one) => readDaemonSet(client, one, signal)),
    readEach(new Map(namespaces.entries()), (namespace) => listDaemonSets(client, namespace, signal)),
  ]);
  return { replicas, daemonSets, byNamespace };
}

async function readEach<Named, Found>(
  named: ReadonlyMap<string, Named>,
  read: (one: Named) => Promise<Found>,
): Promise<ReadonlyMap<string, Found>> {
  return new Map(await Promise.all(Array.from(named, async ([name, one]) => [name, await read(one)] as const)));
}

/** The first of a namespace: more would be too long. */
async function listDaemonSets(client: ApiClient, namespace: string, signal: AbortSignal): Promise<ClusterDaemonSet[]> {
  const path = namespacedPath('/apis/apps/v1', namespace, 'daemonsets');
  const options = { query: { limit: MOST_LISTED }, signal, mostBytes: MOST_BYTES };
  const { items } = await client.request<{ readonly items: readonly object[] }>('GET', path, options);
  return items.map(keepDaemonSet);
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
