import { onTestFinished } from 'vitest';
import type { ApiClient } from '../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../src/cluster/client/api-error.ts';
import {
  type ClusterDaemonSet,
  type ClusterNode,
  projectDaemonSet,
} from '../../../src/cluster/objects/cluster-objects.ts';
import type { PolicyObject } from '../../../src/cluster/policies/policy-object.ts';
import type { Change, Entry } from '../../../src/cluster/watch/cached-objects.ts';
import { startDaemonSetPatching } from '../../../src/controllers/daemon-sets/daemon-set-patching.ts';
import { createReports, type ReportedProblem, stalledCondition } from '../../../src/controllers/reports.ts';
import type { Toleration } from '../../../src/kubernetes/toleration.ts';
import type { PolicyKind } from '../../../src/policy/policy.ts';
import type { PolicySet } from '../../../src/policy/policy-set.ts';
import { nextPolicyStatus } from '../../../src/policy/reporting/next-policy-status.ts';
import type { PatchedDaemonSet, PolicyStatus } from '../../../src/policy/reporting/policy-status.ts';
import type { RecordedEvent } from '../../../src/policy/reporting/recorded-event.ts';

import { createSubject } from '../../../src/runtime/source.ts';
import { captureLog } from '../captured-log.ts';
import { ALL_READ } from './readings.ts';
import { runOf } from './run.ts';

export interface Writable {
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    generation: number;
    annotations: Record<string, string>;
    managedFields: object[];
  };
  spec: {
    template: { spec: { tolerations: Toleration[]; nodeSelector?: Record<string, string> } };
    updateStrategy: { type: string };
  };
  status: Record<
    'observedGeneration' | 'desiredNumberScheduled' | 'updatedNumberScheduled' | 'numberUnavailable',
    number
  >;
}

/** What a PATCH asks for. */
export interface Patch {
  readonly path: string;
  readonly body: {
    readonly metadata: {
      readonly uid: string;
      readonly resourceVersion: string;
      readonly annotations: Record<string, string>;
    };
    readonly spec: { readonly template: { readonly spec: { readonly tolerations: Toleration[] } } };
  };
}

/** The uid of the service account in {@link startRunningCluster}: another one in each installation. */
export const INSTALLATION = 'uid-of-this-installation';

/** DaemonSets in memory, whose pods are replaced at once unless a test says otherwise, and the controller at work on them. */
export function startRunningCluster(compiled: () => PolicySet) {
  const objects = new Map<string, Writable>();
  const cached = new Map<string, Entry<ClusterDaemonSet>>();
  const nodes = new Map<string, Entry<ClusterNode>>();
  const patches: Patch[] = [];
  const events: RecordedEvent[] = [];
  const repairs: string[] = [];
  /** What problems there were, each time that they changed. */
  const told: string[][] = [];
  const { log, lines } = captureLog();
  let version = 1;
  let fail: ((patch: Patch) => unknown) | undefined;
  let following = true;
  /** Keys of DaemonSets whose later versions the cache cannot read. */
  const unreadable = new Set<string>();
  let permitted: boolean | undefined = true;

  /** As the watch would bring it. */
  function observe(): void {
    for (const [key, entry] of cached) {
      if (objects.has(key)) continue;
      cached.delete(key);
      changes.next({ type: 'deleted', entry });
    }
    for (const [key, object] of objects) {
      if (unreadable.has(key)) continue;
      const { name, namespace, uid, resourceVersion } = object.metadata;
      const value = projectDaemonSet(structuredClone(object));
      const entry = { name, namespace, uid, resourceVersion, value };
      const previous = cached.get(key);
      cached.set(key, entry);
      if (!previous) changes.next({ type: 'added', entry });
      else if (previous.resourceVersion !== resourceVersion) changes.next({ type: 'modified', entry, previous });
    }
  }

  /** Changes a DaemonSet as somebody else would. */
  function change(key: string, edit: (object: Writable) => void): void {
    const object = objects.get(key);
    if (!object) throw new Error(`no DaemonSet ${key}`);
    edit(object);
    object.metadata.resourceVersion = String(++version);
    if (following) observe();
  }

  function add(key: string, edit: (object: Writable) => void = () => {}): void {
    const [namespace = '', name = ''] = key.split('/');
    objects.set(key, {
      metadata: {
        ...{ name, namespace, uid: `uid-${++version}`, resourceVersion: String(version), generation: 1 },
        ...{ annotations: {}, managedFields: [] },
      },
      spec: { template: { spec: { tolerations: [] } }, updateStrategy: { type: 'RollingUpdate' } },
      status: { observedGeneration: 1, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberUnavailable: 0 },
    });
    change(key, edit);
  }

  let apiTime = () => new Date();
  const client = {
    now: () => apiTime(),
    async request(method: string, path: string, { body }: { body?: Patch['body'] } = {}) {
      if (path.endsWith('/selfsubjectreviews')) return { status: { userInfo: { uid: INSTALLATION } } };
      const [, namespace, name] = /namespaces\/([^/]+)\/daemonsets\/([^/]+)$/.exec(path) ?? [];
      const object = objects.get(`${namespace}/${name}`);
      if (!object) throw new ApiError(method, path, 404, 'NotFound', 'not found', { missing: name });
      if (method === 'PATCH' && body) {
        patches.push({ path, body });
        const failure = fail?.({ path, body });
        if (failure) throw failure;
        apply(body)(object);
        object.metadata.resourceVersion = String(++version);
        if (following) setTimeout(observe);
      }
      return structuredClone(object);
    },
  };

  const changes = createSubject<Change<ClusterDaemonSet>>();
  const news = createSubject();
  const policyChanges = createSubject();
  const rightChanges = createSubject();
  let leader = startLeader(statusOf([], []));
  onTestFinished(() => leader.stop());

  /** @param status of the policy, as the leader before has left it */
  function startLeader(status: PolicyStatus) {
    const reports = createReports();
    reports.changes.subscribe(() => told.push(causes()));
    const stopping = new AbortController();
    const policy = { kind: 'TolerationPolicy', name: 'cni', status } as unknown as PolicyObject;
    const run = runOf(stopping, log, {
      repaired: (kind, policy) => void repairs.push(`${kind} ${policy}`),
    });
    const patching = startDaemonSetPatching(run, {
      client: client as unknown as ApiClient,
      namespace: 'taintkeeper',
      nodes: { get: (name) => nodes.get(name), entries: () => nodes.values(), news, ...ALL_READ },
      daemonSets: {
        get: (name, namespace) => cached.get(`${namespace}/${name}`),
        isUnreadable: (name, namespace) => unreadable.has(`${namespace}/${name}`),
        unreadable: () => [],
        entries: () => cached.values(),
        changes,
        unreadableChanges: createSubject(),
        ...ALL_READ,
      },
      policies: {
        objects: () => [policy],
        snapshot: () => ({ policies: [], compiled: compiled(), versions: new Set() }),
        changes: policyChanges,
      },
      rights: { permits: (right) => (right === 'patchDaemonSets' ? permitted : false), changes: rightChanges },
      recordEvent: (event) => events.push(event),
      reports,
    });
    return {
      reports,
      patchedBy: patching.patchedBy,
      stop() {
        stopping.abort();
        return patching.stop();
      },
    };
  }

  return {
    add,
    change,
    remove(key: string) {
      objects.delete(key);
      observe();
    },
    /** Nodes that are not Ready. @param since in milliseconds since the epoch */
    setUnreadyNodes(count: number, since?: number) {
      nodes.clear();
      for (let index = 0; index < count; index++) {
        const name = `dead-${index}`;
        const value = {
          ...{ name, labels: {}, taints: [], allowRemoval: undefined, ready: false },
          ...(since === undefined ? {} : { unreadySince: since }),
        };
        nodes.set(name, { name, namespace: '', uid: name, resourceVersion: '1', value });
      }
      news.next();
    },
    /** `compiled` returns other policies from now on. */
    policiesChanged: () => policyChanges.next(),
    /** What a PATCH fails with from now on. */
    failWith(failure: typeof fail) {
      fail = failure;
    },
    /** Whether DaemonSets may be patched, from now on. */
    permit(may: boolean | undefined) {
      permitted = may;
      rightChanges.next();
    },
    /** The clock of the API server, from now on. */
    setApiTime(time: () => Date) {
      apiTime = time;
    },
    /** From now on, the cache keeps the DaemonSet as it is. */
    makeUnreadable: (key: string) => void unreadable.add(key),
    /** Whether the cache follows. */
    follow(does: boolean) {
      following = does;
      if (does) observe();
    },
    get: (key: string) => objects.get(key) as Writable,
    /** What the status of the policy says that was patched. */
    recorded: () => leader.patchedBy('cni'),
    /** The same, as far as the status has room for it. */
    written: () => statusOf(leader.patchedBy('cni'), []).patched ?? [],
    /** Another leader takes over, who knows what the API server holds. `whileAway` is what happens while nobody leads. */
    async changeLeader(whileAway: () => void, recorded = leader.patchedBy('cni')) {
      const status = statusOf(recorded, leader.reports.problems());
      await leader.stop();
      whileAway();
      leader = startLeader(status);
    },
    patches,
    patched: () => patches.map(({ path }) => path.replace(/^.*namespaces\/(.*)\/daemonsets\//, '$1/')),
    events,
    repairs,
    messages: () => lines().map(({ msg }) => msg),
    problems: () => leader.reports.problems(),
    causes,
    /** Whether the status of a policy of the kind may be written. */
    isReported: (kind: PolicyKind) => leader.reports.conditions({ kind, name: 'cni' } as PolicyObject) !== 'pending',
    told,
  };

  /** Why the DaemonSets are not patched, one text for each problem of a policy. */
  function causes(): string[] {
    return leader.reports.problems().map(({ policy, reason, message }) => {
      const [cause = reason] = Object.entries(CAUSES).flatMap(([name, said]) => (said.test(message) ? name : []));
      return `${policy} ${cause} ${message.split(' ')[1]}`;
    });
  }
}

/** What the message of each cause says. */
const CAUSES = {
  removed: /it was removed again/,
  rollout: /have not all been replaced and available for/,
  tooMany: /it has more than 256 tolerations/,
  refused: /the API server refuses the patch or gives no answer/,
  unhealthy: /is not patched: its pods have not all been available for/,
};

/** The status of the policy, as a leader writes it. */
function statusOf(patched: readonly PatchedDaemonSet[], stalled: readonly ReportedProblem[]): PolicyStatus {
  return nextPolicyStatus({
    ...{ kind: 'TolerationPolicy', before: undefined, generation: 1, problems: [], inForce: undefined, audit: false },
    reported: stalled.flatMap(stalledCondition),
    ...{ patched, findings: undefined, now: new Date() },
  });
}

/** What the API server makes of the patch. */
export function apply({ metadata, spec }: Patch['body']) {
  return (object: Writable): void => {
    Object.assign(object.metadata.annotations, metadata.annotations);
    object.spec.template.spec.tolerations = spec.template.spec.tolerations;
    object.metadata.generation++;
    object.status.observedGeneration++;
  };
}
