import { isDeepStrictEqual } from 'node:util';
import { onTestFinished, vi } from 'vitest';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import type { ClusterNode } from '../../../../src/cluster/objects/cluster-objects.ts';
import type { Change, Entry } from '../../../../src/cluster/watch/cached-objects.ts';
import type { ClusterSources } from '../../../../src/controllers/cluster-watches.ts';
import { startNodeRepair } from '../../../../src/controllers/nodes/node-repair.ts';
import { createReports } from '../../../../src/controllers/reports.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../../../../src/judge/allow-removal.ts';
import { parseStartupBoot, STARTUP_BOOT_ANNOTATION } from '../../../../src/judge/node-boot.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import type { RecordedEvent } from '../../../../src/policy/reporting/recorded-event.ts';
import { createMetrics } from '../../../../src/replica/metrics.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { captureLog } from '../../captured-log.ts';
import { absent } from '../../cluster/client/absent.ts';
import type { Policies } from '../../judge/node-drifts.ts';
import { policySet } from '../../policy/policies.ts';
import { ALL_READ } from '../readings.ts';
import { nodeEntry } from './node-entries.ts';
import { type WatchedObject, watchedObjects } from './watched-objects.ts';

/** The merge patch that is sent for a Node. */
export interface NodePatch {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly annotations: Readonly<Record<string, string | null>>;
  };
  readonly spec?: { readonly taints: readonly Taint[] };
}

/** What managedFields say of a node whose taints the leader has not written last. */
const FOREIGN_FIELDS = [
  {
    manager: 'other-writer',
    operation: 'Update',
    time: '2026-01-01T00:00:00Z',
    fieldsV1: { 'f:spec': { 'f:taints': {} } },
  },
];

export const NO_DAEMON_SETS: ClusterSources['daemonSets'] = {
  ...ALL_READ,
  isUnreadable: () => false,
  unreadable: () => [],
  get: () => undefined,
  entries: () => [].values(),
  changes: createSubject(),
  unreadableChanges: createSubject(),
};

/**
 * Starts the repair of nodes that stand in a Map, as the cache has them. Writes change the Map at once, and are refused as the
 * API server refuses them. Stopped with the running test.
 */
export function startRepair(
  policies: Policies,
  nodes: readonly Entry<ClusterNode>[],
  options: {
    /** Resolves when the nodes are known. */
    readonly nodesSynced?: Promise<unknown>;
    readonly audit?: boolean;
    readonly now?: () => Date;
    /** By default there are none, which is known. */
    readonly daemonSets?: ClusterSources['daemonSets'];
    /** The pods of taintkeeper. Without them, its Service does not exist. */
    readonly replicas?: readonly WatchedObject[];
  } = {},
) {
  const {
    audit = false,
    nodesSynced = Promise.resolve(),
    now = () => new Date(),
    daemonSets = NO_DAEMON_SETS,
    replicas = [],
  } = options;
  const cluster = new Map(nodes.map((node) => [node.name, node]));
  /** What the cache has of nodes whose watch is late. */
  const delayed = new Map<string, Entry<ClusterNode>>();
  /** The nodes whose taints the leader has written last: that write takes over the field. */
  const ownTaints = new Set<string>();
  const writes: { readonly name: string; readonly patch: NodePatch }[] = [];
  const events: RecordedEvent[] = [];
  const { log, lines } = captureLog();
  const metrics = createMetrics('test');
  const nodeChanges = createSubject<Change<ClusterNode>>();
  const policyChanges = createSubject();
  const reports = createReports();
  const onProblems = vi.fn();
  reports.changes.subscribe(onProblems);
  const stopping = new AbortController();
  /** Does what somebody else does before the write arrives; what it throws is the answer. */
  const beforeWrite = vi.fn((_name: string) => {});
  /** Is called before a node is read; what it throws is the answer. */
  const beforeRead = vi.fn((_name: string) => {});
  /** What mutating webhooks make of the taints of a patch. */
  const mutation = vi.fn((taints: readonly Taint[]) => taints);
  let versions = 1;
  let compiled = policySet({ taint: policies }, { audit });

  const { client: pods, put } = watchedObjects();
  for (const replica of replicas) put(replica);
  const client: Pick<ApiClient, 'request' | 'lines' | 'now'> = {
    now,
    lines: pods.lines,
    async request<T>(method: Parameters<ApiClient['request']>[0], path: string, sent: RequestOptions = {}): Promise<T> {
      if (path.endsWith('/pods')) return pods.request<T>(method, path, sent);
      if (path.includes('/services/')) {
        if (replicas.length === 0) throw absent(method, path);
        return { spec: { selector: { app: 'taintkeeper' } } } as T;
      }
      const name = path.replace('/api/v1/nodes/', '');
      if (method === 'GET') {
        beforeRead(name);
        const found = cluster.get(name);
        if (!found) throw absent(method, path);
        return objectOf(found) as T;
      }
      const patch = sent.body as NodePatch;
      writes.push({ name, patch });
      beforeWrite(name);
      const node = cluster.get(name);
      if (!node) throw absent(method, path);
      if (node.resourceVersion !== patch.metadata.resourceVersion)
        throw new ApiError(method, path, 409, 'Conflict', '');
      const { [ALLOW_REMOVAL_ANNOTATION]: allowRemoval, [STARTUP_BOOT_ANNOTATION]: boot } = patch.metadata.annotations;
      const startupBoot = parseStartupBoot(boot);
      const taints = patch.spec && mutation(patch.spec.taints);
      const changed = {
        ...(taints === undefined || isDeepStrictEqual(taints, node.value.taints) ? {} : { taints }),
        ...(allowRemoval === undefined ? {} : { allowRemoval: allowRemoval ?? undefined }),
        ...(boot === undefined ? {} : ({ startupBoot } as Partial<ClusterNode>)),
      };
      // The API server stores no new version of an object that is left as it was.
      if (Object.keys(changed).length > 0) change(name, changed);
      if ('taints' in changed) ownTaints.add(name);
      return objectOf(cluster.get(name) ?? node) as T;
    },
  };

  function objectOf({ name, uid, resourceVersion, value: { taints } }: Entry<ClusterNode>) {
    const managedFields = ownTaints.has(name) ? [] : FOREIGN_FIELDS;
    return { metadata: { name, uid, resourceVersion, managedFields }, spec: { taints } };
  }

  /** Writes the node as somebody else does; the watch tells of it. */
  function change(name: string, value: Partial<ClusterNode>, how: { readonly isListed?: true } = {}): void {
    const previous = cluster.get(name);
    const before = previous ?? nodeEntry(name);
    const entry = { ...before, resourceVersion: String(++versions), value: { ...before.value, ...value } };
    cluster.set(name, entry);
    if ('taints' in value) ownTaints.delete(name);
    if (delayed.has(name)) return;
    nodeChanges.next(previous ? { type: 'modified', entry, previous, ...how } : { type: 'added', entry });
  }

  /** Its kubelet writes the node: of what is kept, nothing changes. */
  function beat(name: string): void {
    const previous = cluster.get(name) ?? nodeEntry(name);
    const entry = { ...previous, resourceVersion: String(++versions) };
    cluster.set(name, entry);
    nodeChanges.next({ type: 'modified', entry, previous });
  }

  /** The cache keeps this version of the node, and the watch tells nothing of later ones, until the returned function is called. */
  function delayWatch(name: string): () => void {
    const previous = cluster.get(name) ?? nodeEntry(name);
    delayed.set(name, previous);
    return () => {
      delayed.delete(name);
      nodeChanges.next({ type: 'modified', entry: cluster.get(name) ?? previous, previous });
    };
  }

  /** The watch tells of the node as it stands in the Map. */
  function nodeChanged(name: string): void {
    nodeChanges.next({ type: 'added', entry: cluster.get(name) ?? nodeEntry(name) });
  }

  const watched = {
    get: (name: string) => delayed.get(name) ?? cluster.get(name),
    synced: nodesSynced,
    has: (name: string) => cluster.has(name),
    entries: () => Array.from(cluster.values(), (entry) => delayed.get(entry.name) ?? entry).values(),
    changes: nodeChanges,
    news: createSubject(),
  };
  const run = { signal: stopping.signal, metrics, log };
  const controller = startNodeRepair(run, {
    client: client as ApiClient,
    nodes: watched,
    daemonSets,
    service: { namespace: 'kube-system', name: 'taintkeeper', port: 443 },
    rights: { permits: () => true, changes: createSubject() },
    policies: {
      snapshot: () => ({ policies: [], compiled, versions: new Set() }),
      isComplete: () => true,
      changes: policyChanges,
    },
    recordEvent: (event) => void events.push(event),
    reports,
  });
  const repair = {
    nodeChanged,
    policiesChanged: () => policyChanges.next(),
    problems: reports.problems,
    isInConflict: controller.isInConflict,
    stop() {
      stopping.abort();
      return controller.stop();
    },
  };
  onTestFinished(() => repair.stop());

  return {
    repair,
    cluster,
    writes,
    beforeWrite,
    beforeRead,
    mutation,
    onProblems,
    change,
    delayWatch,
    beat,
    remove(name: string) {
      const entry = cluster.get(name) ?? nodeEntry(name);
      cluster.delete(name);
      nodeChanges.next({ type: 'deleted', entry });
    },
    setPolicies(next: Policies) {
      compiled = policySet({ taint: next }, { audit });
      repair.policiesChanged();
    },
    taintsOf: (name: string) => cluster.get(name)?.value.taints,
    events,
    /** What was said of nodes: `NODE REASON`, in that order. */
    said: () =>
      events.filter(({ regarding }) => regarding.kind === 'Node').map((e) => `${e.regarding.name} ${e.reason}`),
    messages: () => lines().map(({ msg }) => msg),
    metric: (name: string) => metrics.registry.getSingleMetricAsString(name),
  };
}
