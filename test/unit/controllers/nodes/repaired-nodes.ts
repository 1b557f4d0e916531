import { onTestFinished, vi } from 'vitest';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import type { ClusterDaemonSet, ClusterNode } from '../../../../src/cluster/cluster-objects.ts';
import type { Change, Entry } from '../../../../src/cluster/watch/cached-objects.ts';
import { startNodeRepair } from '../../../../src/controllers/nodes/node-repair.ts';
import { createReports } from '../../../../src/controllers/reports.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../../../../src/judge/allow-removal.ts';
import { parseStartupBoot, STARTUP_BOOT_ANNOTATION } from '../../../../src/judge/startup/reboot.ts';
import type { RecordedEvent } from '../../../../src/kubernetes/event.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { createMetrics } from '../../../../src/server/metrics.ts';
import { captureLog } from '../../captured-log.ts';
import { absent } from '../../cluster/client/absent.ts';
import type { Policies } from '../../judge/node-drifts.ts';
import { policySet } from '../../policy/policies.ts';
import { nodeEntry } from './node-entries.ts';

/** The merge patch that is sent for a Node. */
export interface NodePatch {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly annotations: Readonly<Record<string, string | null>>;
  };
  readonly spec?: { readonly taints: readonly Taint[] };
}

/** What managedFields say of every node. */
const FOREIGN_FIELDS = [
  {
    manager: 'other-writer',
    operation: 'Update',
    time: '2026-01-01T00:00:00Z',
    fieldsV1: { 'f:spec': { 'f:taints': {} } },
  },
];

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
    readonly isComplete?: () => boolean;
    readonly now?: () => Date;
    readonly daemonSets?: readonly Entry<ClusterDaemonSet>[];
    /** Names of nodes that exist, and that the leader cannot read. */
    readonly unreadable?: readonly string[];
    /** Pods of DaemonSets may not be listed at first. */
    readonly refusesPods?: boolean;
    /** The leader is killed after so many writes: requests fail from then on. */
    readonly killedAfter?: number;
  } = {},
) {
  const {
    audit = false,
    isComplete = () => true,
    nodesSynced = Promise.resolve(),
    now = () => new Date(),
    killedAfter = Infinity,
  } = options;
  let { daemonSets = [] } = options;
  let permits = true;
  const rightChanges = createSubject();
  const cluster = new Map(nodes.map((node) => [node.name, node]));
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
  /** What mutating webhooks make of the taints of a patch. */
  const mutation = vi.fn((taints: readonly Taint[]) => taints);
  const daemonSetChanges = createSubject<Change<ClusterDaemonSet>>();
  /** What has a record of its own in the API server's log: `METHOD PATH`, in that order. */
  const requests: string[] = [];
  let written = 0;
  let versions = 1;
  let compiled = policySet({ taint: policies }, { audit });

  /** What there is of pods, or why they may not be listed. */
  let pods: readonly object[] | ApiError = [];
  const daemonPods = podsApi();
  if (options.refusesPods) daemonPods.refuse(500);

  const client: Pick<ApiClient, 'request' | 'lines' | 'now'> = {
    now,
    lines(path, { query = {}, signal, onOpen }) {
      requests.push(`WATCH ${path}?${query.labelSelector}`);
      onOpen?.();
      return daemonPods.watch(signal);
    },
    async request<T>(method: string, path: string, sent: { body?: unknown } = {}) {
      if (written >= killedAfter) throw new Error('killed');
      requests.push(`${method} ${path}`);
      const answer = await answerTo<T>(method, path, sent);
      if (method !== 'GET' && ++written >= killedAfter) throw new Error('killed');
      return answer;
    },
  };

  async function answerTo<T>(method: string, path: string, { body }: { body?: unknown }): Promise<T> {
    const name = path.replace('/api/v1/nodes/', '');
    const refuse = (status: number, reason: string) => new ApiError(method, path, status, reason, '');
    if (path === '/api/v1/pods') {
      if (pods instanceof ApiError) throw pods;
      return { metadata: { resourceVersion: '1' }, items: [...pods] } as T;
    }
    if (path === '/api/v1/namespaces/kube-system/pods') return daemonPods.list(refuse) as T;
    if (method === 'GET') {
      const found = cluster.get(name);
      if (!found) throw absent(method, path);
      return nodeObject(found) as T;
    }
    const patch = body as NodePatch;
    writes.push({ name, patch });
    beforeWrite(name);
    const node = cluster.get(name);
    if (!node) throw absent(method, path);
    if (node.resourceVersion !== patch.metadata.resourceVersion) throw refuse(409, 'Conflict');
    const { [ALLOW_REMOVAL_ANNOTATION]: allowRemoval, [STARTUP_BOOT_ANNOTATION]: boot } = patch.metadata.annotations;
    const startupBoot = parseStartupBoot(boot);
    change(name, {
      ...(patch.spec ? { taints: mutation(patch.spec.taints) } : {}),
      ...(allowRemoval === undefined ? {} : { allowRemoval: allowRemoval ?? undefined }),
      ...(startupBoot === undefined ? {} : { startupBoot }),
    });
    return nodeObject(cluster.get(name) ?? node) as T;
  }

  /** Writes the node as somebody else does; the watch tells of it. */
  function change(name: string, value: Partial<ClusterNode>, how: { readonly isListed?: true } = {}): void {
    const previous = cluster.get(name);
    const before = previous ?? nodeEntry(name);
    const entry = { ...before, resourceVersion: String(++versions), value: { ...before.value, ...value } };
    cluster.set(name, entry);
    nodeChanges.next(previous ? { type: 'modified', entry, previous, ...how } : { type: 'added', entry });
  }

  /** Its kubelet writes the node: of what is kept, nothing changes. */
  function beat(name: string): void {
    const previous = cluster.get(name) ?? nodeEntry(name);
    const entry = { ...previous, resourceVersion: String(++versions) };
    cluster.set(name, entry);
    nodeChanges.next({ type: 'modified', entry, previous });
  }

  /** The watch tells of the node as it stands in the Map. */
  function nodeChanged(name: string): void {
    nodeChanges.next({ type: 'added', entry: cluster.get(name) ?? nodeEntry(name) });
  }

  const watched = {
    get: (name: string) => cluster.get(name),
    synced: nodesSynced,
    has: (name: string) => cluster.has(name) || (options.unreadable ?? []).includes(name),
    entries: () => cluster.values(),
    changes: nodeChanges,
    news: createSubject(),
  };
  const run = { signal: stopping.signal, metrics, log };
  const controller = startNodeRepair(run, {
    client: client as ApiClient,
    nodes: watched,
    daemonSets: {
      synced: Promise.resolve(),
      isSynced: () => true,
      isStale: () => false,
      get: (name, namespace) => daemonSets.find((one) => one.name === name && one.namespace === namespace),
      entries: () => daemonSets.values(),
      changes: daemonSetChanges,
    },
    service: { namespace: 'kube-system', name: 'taintkeeper', port: 443 },
    rights: { permits: () => permits, changes: rightChanges },
    policies: {
      snapshot: () => ({ policies: [], compiled, versions: new Set() }),
      isComplete,
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
    /** A Node of that name registers, another one than before. */
    register(entry: Entry<ClusterNode>) {
      cluster.set(entry.name, { ...entry, resourceVersion: String(++versions) });
      nodeChanged(entry.name);
    },
    cluster,
    writes,
    beforeWrite,
    mutation,
    onProblems,
    change,
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
    setPods(next: typeof pods) {
      pods = next;
    },
    daemonPods,
    startupOn: controller.startupOn,
    /** The DaemonSet as it is from now on; undefined: it is deleted. */
    setDaemonSet(entry: Entry<ClusterDaemonSet>, next: Entry<ClusterDaemonSet> | undefined) {
      daemonSets = [...daemonSets.filter(({ name }) => name !== entry.name), ...(next ? [next] : [])];
      if (next) daemonSetChanges.next({ type: 'modified', entry: next, previous: entry });
      else daemonSetChanges.next({ type: 'deleted', entry });
    },
    setRights(next: typeof permits) {
      permits = next;
      rightChanges.next();
    },
    requests,
    isKilled: () => written >= killedAfter,
    taintsOf: (name: string) => cluster.get(name)?.value.taints,
    events,
    /** What was said of policies, in that order. */
    saidOfPolicies: () => events.flatMap(({ regarding, note }) => (regarding.kind === 'TaintPolicy' ? [note] : [])),
    /** What was said of nodes: `NODE REASON`, in that order. */
    said: () =>
      events.filter(({ regarding }) => regarding.kind === 'Node').map((e) => `${e.regarding.name} ${e.reason}`),
    messages: () => lines().map(({ msg }) => msg),
    metric: (name: string) => metrics.registry.getSingleMetricAsString(name),
  };
}

interface PodObject {
  readonly metadata: { readonly name: string };
}

/** The pods of the DaemonSets in kube-system, as an API server has them. */
function podsApi() {
  const objects = new Map<string, object>();
  const watches = new Set<(event: object) => void>();
  let refusal: number | undefined;
  let version = 1;

  return {
    /** Written anew; the watch tells of it. */
    put(...pods: readonly PodObject[]) {
      for (const pod of pods) {
        const { name } = pod.metadata;
        const resourceVersion = String(++version);
        const type = objects.has(name) ? 'MODIFIED' : 'ADDED';
        const object = { ...pod, metadata: { namespace: 'kube-system', uid: name, ...pod.metadata, resourceVersion } };
        objects.set(name, object);
        for (const tell of watches) tell({ type, object });
      }
    },
    remove(name: string) {
      const found = objects.get(name) as PodObject;
      objects.delete(name);
      const object = { ...found, metadata: { ...found.metadata, resourceVersion: String(++version) } };
      for (const tell of watches) tell({ type: 'DELETED', object });
    },
    /** The status of all lists from now on; undefined: as it is. */
    refuse(status: number | undefined) {
      refusal = status;
    },
    watching: () => watches.size,
    list(refuse: (status: number, reason: string) => Error) {
      if (refusal !== undefined) throw refuse(refusal, 'no');
      return { metadata: { resourceVersion: String(version) }, items: [...objects.values()] };
    },
    async *watch(signal: AbortSignal | undefined) {
      const events: object[] = [];
      let wake = () => {};
      const tell = (event: object) => {
        events.push(event);
        wake();
      };
      const end = () => wake();
      watches.add(tell);
      signal?.addEventListener('abort', end);
      try {
        while (!signal?.aborted) {
          yield* events.splice(0);
          await new Promise<void>((resolve) => {
            wake = resolve;
            if (events.length > 0 || signal?.aborted) resolve();
          });
        }
      } finally {
        watches.delete(tell);
        signal?.removeEventListener('abort', end);
      }
    },
  };
}

function nodeObject({ name, uid, resourceVersion, value: { taints } }: Entry<ClusterNode>) {
  return { metadata: { name, uid, resourceVersion, managedFields: FOREIGN_FIELDS }, spec: { taints } };
}
