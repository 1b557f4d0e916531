import type { ApiClient } from '../../cluster/client/api-client.ts';
import { findObject } from '../../cluster/client/find-object.ts';
import { namespacedPath } from '../../cluster/client/object-path.ts';
import { listReplicas } from '../../cluster/installation/replica-pods.ts';
import type { ServiceRef } from '../../cluster/installation/service-ref.ts';
import { limitDaemonSet } from '../../cluster/objects/kept-limits.ts';
import type { DaemonSetView } from '../../judge/daemon-set-view.ts';
import { protectedStartupTaintsOf, startupFaults, startupNotes } from '../../judge/policy/startup-faults.ts';
import { asDaemonSet, viewDaemonSet } from '../../objects/daemon-set-object.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { daemonSetName, type ReadyDaemonSet } from '../../policy/ready-when.ts';

/** A policy that names more DaemonSets and namespaces gets no warnings: each costs a request, and every pod can send reviews. */
const MOST_REQUESTS = 16;
/** The DaemonSets of a namespace that are read. */
const MOST_LISTED = 32;
/** All of them are read at once, and a DaemonSet of more than 100 KB is rare. */
const MOST_BYTES = 1024 * 1024;

/**
 * Warnings about a policy whose startup taints would remain, or that would keep those of another policy.
 *
 * @returns undefined if that cannot be read, or if it would need too many requests
 */
export async function startupRuleWarnings(
  client: ApiClient,
  service: ServiceRef,
  policy: CompiledTaintPolicy,
  others: readonly CompiledTaintPolicy[],
  timeoutMs: number,
): Promise<readonly string[] | undefined> {
  const named = policy.untilReady.flatMap(({ parts }) => parts.daemonSets);
  const awaited = [...new Map(named.map((one) => [daemonSetName(one), one])).values()];
  const namespaces = new Set(
    policy.untilReady.flatMap(({ parts }) => parts.allDaemonSets.flatMap((all) => all.namespaces ?? [])),
  );
  if (awaited.length + namespaces.size > MOST_REQUESTS) return undefined;
  const signal = AbortSignal.timeout(timeoutMs);
  const [replicas, inNamespaces, ...found] = await Promise.all([
    policy.untilReady.length === 0 ? [] : listReplicas(client, service, signal),
    Promise.all(Array.from(namespaces, (namespace) => listDaemonSets(client, namespace, signal))),
    ...awaited.map(async (one) => [daemonSetName(one), await readDaemonSet(client, one, signal)] as const),
  ]);
  const daemonSets = new Map(found);
  const protectedStartupTaints = protectedStartupTaintsOf(policy, [policy, ...others]);
  const daemonSetOf = (one: ReadyDaemonSet) => daemonSets.get(daemonSetName(one));
  const faults = startupFaults(policy, { protectedStartupTaints, replicas, daemonSetOf });
  return [...faults.map(({ warning }) => warning), ...startupNotes(policy, inNamespaces.flat()).warnings];
}

/** The first of a namespace: more would be too long. */
async function listDaemonSets(client: ApiClient, namespace: string, signal: AbortSignal): Promise<DaemonSetView[]> {
  const path = namespacedPath('/apis/apps/v1', namespace, 'daemonsets');
  const options = { query: { limit: MOST_LISTED }, signal, mostBytes: MOST_BYTES };
  const { items } = await client.request<{ readonly items: readonly object[] }>('GET', path, options);
  return items.map((object) => limitDaemonSet(viewDaemonSet(asDaemonSet(object, []), namespace, '')));
}

async function readDaemonSet(
  client: ApiClient,
  { namespace, name }: ReadyDaemonSet,
  signal: AbortSignal,
): Promise<DaemonSetView | undefined> {
  const path = namespacedPath('/apis/apps/v1', namespace, 'daemonsets', name);
  const object = await findObject(client, path, { signal, mostBytes: MOST_BYTES });
  return object === undefined ? undefined : limitDaemonSet(viewDaemonSet(asDaemonSet(object, []), namespace, name));
}
