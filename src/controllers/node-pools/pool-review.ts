import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isForbidden } from '../../cluster/client/api-error.ts';
import {
  concernsUs,
  hiddenPoolsText,
  listPools,
  type PoolApi,
  servedPoolApis,
} from '../../cluster/nodes/node-pools.ts';
import type { ClusterNode } from '../../cluster/objects/cluster-objects.ts';
import type { ClusterPolicies } from '../../cluster/policies/policies.ts';
import type { PolicyObject } from '../../cluster/policies/policy-object.ts';
import { isNews } from '../../cluster/watch/cached-objects.ts';
import { createFairMap, type EntrySource } from '../../collections/fair-map.ts';
import { taintIdentity } from '../../kubernetes/taint.ts';
import { type PoolNote, poolNote } from '../../node-pools/pool-note.ts';
import {
  howToDeclareSeen,
  type SeenStartupTaint,
  seenStartupTaints,
  type UnknownStartupTaints,
  unknownStartupTaints,
  unknownText,
} from '../../node-pools/seen-startup-taints.ts';
import { undeclaredTaints } from '../../node-pools/undeclared-taints.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { isEnforced } from '../../policy/enforcement.ts';
import { policyReference } from '../../policy/reporting/policy-events.ts';
import type { RecordedEvent } from '../../policy/reporting/recorded-event.ts';
import { reported } from '../../policy/reporting/status-conditions.ts';
import { createSubject } from '../../runtime/source.ts';
import type { SyncState, WatchedNodes } from '../cluster-watches.ts';
import { type Controller, POLICIES_GATHER_MS, type Run, startControllerReconciler } from '../controller.ts';
import type { Rights } from '../optional-rights.ts';
import type { Reports } from '../reports.ts';

/** Pools are few and change rarely: listing them at this interval costs less than watching three resources. */
const CHECK_AGAIN_MS = 60_000;
/** While a problem is reported, which a user may be about to fix. */
const CHECK_SOON_MS = 10_000;

/** A kubelet may claim by a label to be of any pool, and of another one each time. No node pushes out what others with fewer claims have. */
const MAX_SEEN = 1_000;
/** Startup taints of one node that count. */
const MAX_TAINTS = 16;

export interface PoolReviewOptions {
  readonly client: ApiClient;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'changes'>;
  readonly nodes: Pick<WatchedNodes, 'entries' | 'changes'> & Pick<SyncState, 'synced'>;
  readonly rights: Rights;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly reports: Pick<Reports, 'add'>;
}

/** Compares the templates of node pools with the taints that policies set when a node registers, and with the startup taints that their nodes carried. */
export interface PoolReview {
  /**
   * Notes the startup taints of a node. Most of them are removed within seconds, before the pools are listed again.
   * @returns whether a taint has to be compared with its pool
   */
  see(node: ClusterNode): boolean;
  /** What the condition `Ready` of the policy says of node pools, if anything. */
  noteOn(policy: Pick<PolicyObject, 'kind' | 'name'>): PoolNote | undefined;
  /** @returns in how many milliseconds to run again */
  reconcile(): Promise<number>;
}

/** @param onChange called when a note has changed */
export function poolReview(
  { client, policies: { snapshot }, nodes, rights, recordEvent }: Omit<PoolReviewOptions, 'reports'>,
  log: Pick<Logger, 'warn'>,
  onChange: () => void,
): PoolReview {
  const taintPolicies = () => snapshot().compiled.taintPolicies;
  /** By the name of the TaintPolicy. */
  let notes: ReadonlyMap<string, PoolNote> = new Map();
  /** Taints that were not compared with their pool yet, by NodePool and taint. */
  const unchecked = createFairMap<SeenStartupTaint>(MAX_SEEN);
  /** Taints that were compared with a pool that exists: each is reported once. */
  const checked = createFairMap<true>(MAX_SEEN);
  /** The names of the NodePools, as they were last listed. */
  let listed: ReadonlySet<string> | undefined;

  return {
    see(node) {
      let hasNews = false;
      for (const one of seenStartupTaints(node, taintPolicies()).slice(0, MAX_TAINTS)) {
        if (one.nodePool === undefined || checked.get(keyOf(one)) || unchecked.get(keyOf(one))) continue;
        const isFull = unchecked.set(keyOf(one), one, sourceOf(one)) !== undefined;
        // A pool that was not listed may be new, or invented: the next reconciliation lists the pools, and comes soon enough.
        if (!isFull && (listed?.has(one.nodePool) ?? true)) hasNews = true;
      }
      return hasNews;
    },
    async reconcile() {
      await nodes.synced;
      const policies = taintPolicies().filter((policy) => isEnforced(policy) && policy.ensured.length > 0);
      const isNeeded = policies.length > 0 || unchecked.size > 0;
      const found = isNeeded ? await compare(policies) : new Map<string, PoolNote>();
      if (!isDeepStrictEqual(found, notes)) {
        for (const [name, note] of found) {
          if (note.reason === 'PoolLacksTaint' && note.message !== notes.get(name)?.message) report(name, note);
        }
        notes = found;
        onChange();
      }
      // Once a right is granted, this runs at once.
      return [...found.values()].some(({ reason }) => reason === 'PoolLacksTaint') ? CHECK_SOON_MS : CHECK_AGAIN_MS;
    },
    noteOn: ({ kind, name }) => (kind === 'TaintPolicy' ? notes.get(name) : undefined),
  };

  async function compare(policies: readonly CompiledTaintPolicy[]): Promise<Map<string, PoolNote>> {
    const clusters = new Set([...nodes.entries()].flatMap(({ value }) => value.machineCluster ?? []));
    const apis = (await servedApis()).filter((api) => concernsUs(api, clusters));
    // Until it is known whether the leader may list them, it sends no request and reports nothing.
    const readable = apis.filter(({ right }) => rights.permits(right));
    const hidden = apis.filter(({ right }) => rights.permits(right) === false).map(hiddenPoolsText);
    const seen = unchecked.values();
    const pools = (await Promise.all(readable.map((api) => listPools(client, api, clusters)))).flat();
    const undeclared = undeclaredTaints(pools, policies);
    if (readable.some(({ right }) => right === 'listNodePools')) {
      for (const one of unknownStartupTaints(pools, seen, undeclared)) reportPool(one);
      const names = new Set(pools.flatMap(({ kind, name }) => (kind === 'NodePool' ? [name] : [])));
      listed = names;
      for (const one of seen) {
        unchecked.delete(keyOf(one));
        if (names.has(one.nodePool ?? '')) checked.set(keyOf(one), true, sourceOf(one));
      }
    }
    return new Map(
      policies.flatMap((policy) => {
        const note = poolNote(policy, undeclared, hidden);
        return note ? [[policy.name, note] as const] : [];
      }),
    );
  }

  /** Without the right to discover APIs, pools are ignored. */
  async function servedApis(): Promise<PoolApi[]> {
    try {
      return await servedPoolApis(client);
    } catch (error) {
      if (isForbidden(error)) return [];
      throw error;
    }
  }

  function reportPool(unknown: UnknownStartupTaints): void {
    const { name, uid } = unknown.pool;
    const regarding = { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', name, ...(uid === undefined ? {} : { uid }) };
    const note = `${unknownText(unknown)}; ${howToDeclareSeen(unknown)}`;
    recordEvent({ regarding, type: 'Warning', reason: 'PoolLacksTaint', action: 'ReviewNodePools', note });
    log.warn(note);
  }

  function report(name: string, { message }: PoolNote): void {
    const regarding = policyReference({ kind: 'TaintPolicy', name });
    recordEvent({ regarding, type: 'Warning', reason: 'PoolLacksTaint', action: 'ReviewNodePools', note: message });
  }
}

function sourceOf({ node, nodePool = '' }: SeenStartupTaint): EntrySource {
  return { origin: node, part: nodePool };
}

function keyOf({ nodePool, taint }: SeenStartupTaint): string {
  return `${nodePool} ${taintIdentity(taint)}`;
}

/** Repeats the {@link poolReview}, for the status of the policies. */
export function startPoolReview(run: Run, options: PoolReviewOptions): Controller {
  const { nodes, policies, rights, reports } = options;
  const { signal, log } = run;
  const changes = createSubject();
  const review = poolReview(options, log, changes.next);
  reports.add('nodePools', { changes, conditions: (policy) => reported('Ready', review.noteOn(policy)) });
  const reconciler = startControllerReconciler(run, 'node-pools', review.reconcile, { pauseMs: POLICIES_GATHER_MS });
  nodes.changes.subscribe((change) => {
    if (change.type !== 'deleted' && isNews(change) && review.see(change.entry.value)) reconciler.trigger();
  }, signal);
  for (const source of [policies.changes, rights.changes]) source.subscribe(() => reconciler.restart(), signal);
  return reconciler;
}
