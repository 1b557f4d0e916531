import { onTestFinished } from 'vitest';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import type { ClusterDaemonSet, ClusterNode } from '../../../../src/cluster/objects/cluster-objects.ts';
import type { Change, Entry } from '../../../../src/cluster/watch/cached-objects.ts';
import { startPodRecovery } from '../../../../src/controllers/recovery/pod-recovery.ts';
import { createReports } from '../../../../src/controllers/reports.ts';
import {
  RECOVERY_TIMINGS,
  type RecoveryPolicySpec,
  type RecoveryTimings,
} from '../../../../src/policy/recovery-policy.ts';
import type { RecordedEvent } from '../../../../src/policy/reporting/recorded-event.ts';
import type { OptionalRight } from '../../../../src/policy/required-rights.ts';
import { createMetrics } from '../../../../src/replica/metrics.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { captureLog } from '../../captured-log.ts';
import { absent } from '../../cluster/client/absent.ts';
import { policySet } from '../../policy/policies.ts';

export const OWNER = { kind: 'DaemonSet', apiVersion: 'apps/v1', name: 'cni', uid: 'ds-1', controller: true };

export interface Write {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

/** How the API server answers a write: done, or not, or with that status, or not at all. */
type Answer = 'done' | 'without effect' | 'lost' | number;

/** The recovery of pods in a cluster with one DaemonSet, for what a real API server cannot be made to do. Ends with the running test. */
export function startInCluster(
  specs: Readonly<Record<string, Partial<RecoveryPolicySpec>>>,
  timings: Partial<RecoveryTimings> = {},
) {
  const pods = new Map<string, object>();
  const watchers = new Set<(event: object) => void>();
  const writes: Write[] = [];
  const events: RecordedEvent[] = [];
  const calls = { findings: 0, watches: 0, sweeps: 0 };
  const nodes = new Map<string, ClusterNode>();
  const daemonSets = new Map<string, Entry<ClusterDaemonSet>>();
  const { log, lines } = captureLog();
  const metrics = createMetrics('test');
  const nodeChanges = createSubject<Change<ClusterNode>>();
  const daemonSetChanges = createSubject<Change<ClusterDaemonSet>>();
  const policyChanges = createSubject();
  const rightChanges = createSubject();
  const reports = createReports();
  reports.changes.subscribe(() => calls.findings++);
  const stopping = new AbortController();
  let version = 100;
  let readable = true;
  let forbidden: readonly OptionalRight[] = [];
  let answer: (write: Write) => Answer = () => 'done';
  let compiled = compile(specs);

  const client = {
    async request(method: string, path: string, { body }: RequestOptions = {}) {
      if (method === 'GET' && !readable) throw new ApiError(method, path, 403, 'Forbidden', 'no right to list pods');
      if (method === 'GET') return { metadata: { resourceVersion: `${version}` }, items: [...pods.values()] };
      const write = { method, path, body };
      writes.push(write);
      const answered = answer(write);
      if (answered === 'lost') throw new Error(`${method} ${path}: the connection was closed`);
      if (answered === 404) throw absent(method, path);
      if (typeof answered === 'number') throw new ApiError(method, path, answered, '', 'on purpose');
      if (method === 'DELETE') cluster.removePod(path.slice(path.lastIndexOf('/') + 1));
      const { generation = 0 } = daemonSets.get('kube-system/cni')?.value ?? {};
      return { metadata: { generation: answered === 'done' ? generation + 1 : generation } };
    },
    async *lines(_path: string, { signal, onOpen }: { signal?: AbortSignal; onOpen?: () => void }) {
      const queue: object[] = [];
      let wake = () => {};
      const watcher = (event: object) => {
        queue.push(event);
        wake();
      };
      watchers.add(watcher);
      calls.watches++;
      signal?.addEventListener('abort', () => wake());
      onOpen?.();
      try {
        while (!signal?.aborted) {
          yield* queue.splice(0);
          const woken = Promise.withResolvers<void>();
          wake = woken.resolve;
          if (queue.length === 0 && !signal?.aborted) await woken.promise;
        }
        throw new Error('stopped');
      } finally {
        watchers.delete(watcher);
      }
    },
  } as unknown as ApiClient;

  const cluster = {
    writes,
    events,
    calls,
    metrics,
    logged: () => lines().map(({ msg }) => msg),
    reasons: () => events.map(({ reason, regarding }) => `${reason} ${regarding.kind}`),
    watching: () => watchers.size,
    setPolicies(next: typeof specs) {
      compiled = compile(next);
      policyChanges.next();
    },
    /** From now on. */
    answers(next: typeof answer) {
      answer = next;
    },
    /** What is not permitted, from now on. */
    forbid(...rights: readonly OptionalRight[]) {
      forbidden = rights;
      rightChanges.next();
    },
    /** Whether pods may be listed. */
    setReadable(may: boolean) {
      readable = may;
    },
    setNode(name: string, part: Partial<ClusterNode> = {}) {
      const value = { name, labels: {}, taints: [], allowRemoval: undefined, ready: true, ...part } as ClusterNode;
      nodes.set(name, value);
      nodeChanges.next({ type: 'added', entry: entryOf(value) });
    },
    setDaemonSet(part: Partial<ClusterDaemonSet> = {}, namespace = 'kube-system', uid = OWNER.uid) {
      const status = { observedGeneration: 1, desired: 2, current: 2, updated: 2, unavailable: 0 };
      const value = {
        ...{ namespace, name: 'cni', labels: {}, annotations: {}, tolerations: [], deleting: false },
        ...{ nodeName: '', nodeSelector: {}, nodeAffinity: undefined, hostNetwork: true, isCritical: false },
        ...{ generation: 1, onDelete: false, podSelector: { matchLabels: { app: 'cni' } }, status },
        ...part,
      };
      const resourceVersion = `${++version}`;
      const entry = { namespace, name: 'cni', uid, resourceVersion, value };
      daemonSets.set(`${namespace}/cni`, entry);
      daemonSetChanges.next({ type: 'added', entry });
    },
    removeDaemonSet() {
      const entry = daemonSets.get('kube-system/cni');
      daemonSets.delete('kube-system/cni');
      if (entry) daemonSetChanges.next({ type: 'deleted', entry });
    },
    /** A pod that is Failed. */
    addPod(name: string, node = 'n1', { owner = OWNER as object, namespace = 'kube-system' } = {}) {
      const metadata = {
        name,
        namespace,
        uid: `uid-${name}`,
        resourceVersion: `${++version}`,
        ownerReferences: [owner],
      };
      const pod = { metadata, spec: { nodeName: node }, status: { phase: 'Failed', reason: 'NodeShutdown' } };
      pods.set(name, pod);
      for (const watcher of watchers) watcher({ type: 'ADDED', object: pod });
    },
    removePod(name: string) {
      const pod = pods.get(name) as { metadata: object } | undefined;
      if (!pod) return;
      pods.delete(name);
      const object = { ...pod, metadata: { ...pod.metadata, resourceVersion: `${++version}` } };
      for (const watcher of watchers) watcher({ type: 'DELETED', object });
    },
    recovery: {
      problems: reports.problems,
      stuckPods: () => recovery.stuckPods(),
      stop() {
        stopping.abort();
        return recovery.stop();
      },
    },
  };
  const run = { signal: stopping.signal, metrics, log };
  const recovery = startPodRecovery(run, {
    client,
    namespace: 'taintkeeper',
    nodes: {
      get(name) {
        const node = nodes.get(name);
        return node && entryOf(node);
      },
      entries() {
        calls.sweeps++;
        return [];
      },
      changes: nodeChanges,
      news: createSubject(),
    },
    daemonSets: {
      isUnreadable: () => false,
      unreadable: () => [],
      get: (name, namespace) => daemonSets.get(`${namespace}/${name}`),
      entries: () => daemonSets.values(),
      changes: daemonSetChanges,
      unreadableChanges: createSubject(),
    },
    policies: { snapshot: () => ({ policies: [], compiled, versions: new Set() }), changes: policyChanges },
    rights: { permits: (right) => !forbidden.includes(right), changes: rightChanges },
    recordEvent: (event) => events.push(event),
    reports,
    timings: { ...RECOVERY_TIMINGS, ...timings },
  });
  cluster.setNode('n1');
  cluster.setNode('n2');
  cluster.setDaemonSet();
  onTestFinished(() => cluster.recovery.stop());
  return cluster;
}

function entryOf(value: ClusterNode): Entry<ClusterNode> {
  return { namespace: '', name: value.name, uid: `uid-${value.name}`, resourceVersion: '1', value };
}

function compile(specs: Readonly<Record<string, Partial<RecoveryPolicySpec>>>) {
  const whole = Object.entries(specs).map(([name, spec]) => [name, { daemonSets: { namespaces: ['*'] }, ...spec }]);
  return policySet({ recovery: Object.fromEntries(whole) });
}
