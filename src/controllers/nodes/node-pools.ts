import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isForbidden } from '../../cluster/client/api-error.ts';
import type { ClusterNode } from '../../cluster/cluster-objects.ts';
import { concernsUs, hiddenPools, listPools, type PoolApi, servedPoolApis } from '../../cluster/node-pools.ts';
import type { ClusterPolicies, PolicyObject } from '../../cluster/policies.ts';
import { listObjects } from '../../cluster/watch/list-pages.ts';
import { poolCondition, undeclaredTaints } from '../../coverage/node-pools.ts';
import {
  howToDeclareSeen,
  type SeenStartupTaint,
  seenStartupTaints,
  type UnknownStartupTaints,
  unknownStartupTaints,
  unknownText,
} from '../../coverage/seen-startup-taints.ts';
import type { RecordedEvent } from '../../kubernetes/event.ts';
import { identity } from '../../kubernetes/taint.ts';
import { policyReference } from '../../policy/policy-events.ts';
import type { CompiledTaintPolicy } from '../../policy/policy-set.ts';
import { reported, type StateOf } from '../../policy/status-conditions.ts';
import { type Controller, POLICIES_GATHER_MS, type Run, startController } from '../controller.ts';
import type { Rights } from '../installation/permissions.ts';
import type { Reports } from '../reports.ts';
import { isNews, type WatchedNodes } from '../sources.ts';

/** Pools are few, and change seldom: a list of them now and then is cheaper than a watch of three resources. */
const LOOK_AGAIN_MS = 60_000;
/** While something was told that somebody may be about to put right. */
const RECHECK_MS = 10_000;

/** A node may claim to be of any pool. */
const MAX_SEEN = 1_000;

export interface PoolReviewOptions {
  readonly client: ApiClient;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'changes'>;
  readonly nodes: Pick<WatchedNodes, 'entries' | 'changes'>;
  /** Resolves when `nodes` has all of them. */
  readonly synced: Promise<unknown>;
  readonly rights: Rights;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly reports: Pick<Reports, 'add'>;
}

/** Compares the templates of node pools with the required taints of the policies, and with the startup taints that their nodes carried. */
export interface PoolReview {
  /**
   * Notes the startup taints of a node. Most are there for seconds: between two looks at the pools, nothing is left of them.
   * @returns whether there is one to look into
   */
  see(node: ClusterNode): boolean;
  /** The condition `PoolLacksTaint` of the policy, if any. */
  undeclared(policy: Pick<PolicyObject, 'kind' | 'name'>): StateOf<'PoolLacksTaint'> | undefined;
  /** One run. Gives the time until the next look, in milliseconds. */
  reconcile(): Promise<number>;
}

/** @param onChange called when a condition has changed */
export function poolReview(
  { client, policies: { snapshot }, nodes, synced, rights, recordEvent }: Omit<PoolReviewOptions, 'reports'>,
  log: Pick<Logger, 'warn'>,
  onChange: () => void,
): PoolReview {
  const taintPolicies = () => snapshot().compiled.taintPolicies;
  /** Of TaintPolicies, by name. */
  let conditions: ReadonlyMap<string, StateOf<'PoolLacksTaint'>> = new Map();
  /** By NodePool and taint: what was seen, and not compared with the pool yet. */
  const unchecked = new Map<string, SeenStartupTaint>();
  /** What was compared: each is reported once. */
  const checked = new Set<string>();

  return {
    see(node) {
      let hasNews = false;
      for (const one of seenStartupTaints(node, taintPolicies())) {
        if (one.nodePool === undefined || checked.has(keyOf(one)) || unchecked.has(keyOf(one))) continue;
        if (checked.size + unchecked.size >= MAX_SEEN) break;
        unchecked.set(keyOf(one), one);
        hasNews = true;
      }
      return hasNews;
    },
    async reconcile() {
      await synced;
      const policies = taintPolicies().filter(({ mode, ensured }) => mode !== 'Audit' && ensured.length > 0);
      const isNeeded = policies.length > 0 || unchecked.size > 0;
      const found = isNeeded ? await look(policies) : new Map<string, StateOf<'PoolLacksTaint'>>();
      if (!isDeepStrictEqual(found, conditions)) {
        for (const [name, state] of found) {
          if (state.status === 'True' && state.message !== conditions.get(name)?.message) report(name, state);
        }
        conditions = found;
        onChange();
      }
      // Once a right is granted, this runs at once.
      return [...found.values()].some(({ status }) => status === 'True') ? RECHECK_MS : LOOK_AGAIN_MS;
    },
    undeclared: ({ kind, name }) => (kind === 'TaintPolicy' ? conditions.get(name) : undefined),
  };

  async function look(policies: readonly CompiledTaintPolicy[]): Promise<Map<string, StateOf<'PoolLacksTaint'>>> {
    const clusters = new Set([...nodes.entries()].flatMap(({ value }) => value.machineCluster ?? []));
    const apis = (await servedApis()).filter((api) => concernsUs(api, clusters));
    // Until it is known whether they may be listed, nothing is tried and nothing told.
    const readable = apis.filter(({ right }) => rights.permits(right));
    const hidden = apis.filter(({ right }) => rights.permits(right) === false).map(hiddenPools);
    const seen = [...unchecked.values()];
    const pools = (await Promise.all(readable.map((api) => listPools(client, api, clusters, listObjects)))).flat();
    const undeclared = undeclaredTaints(pools, policies);
    if (readable.some(({ right }) => right === 'listNodePools')) {
      for (const one of unknownStartupTaints(pools, seen, undeclared)) reportPool(one);
      for (const key of seen.map(keyOf)) {
        unchecked.delete(key);
        checked.add(key);
      }
    }
    return new Map(
      policies.flatMap((policy) => {
        const state = poolCondition(policy, undeclared, hidden);
        return state ? [[policy.name, state] as const] : [];
      }),
    );
  }

  /** Where a cluster lets nobody ask what there is, nothing is said of it. */
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

  function report(name: string, { message }: StateOf<'PoolLacksTaint'>): void {
    const regarding = policyReference({ kind: 'TaintPolicy', name });
    recordEvent({ regarding, type: 'Warning', reason: 'PoolLacksTaint', action: 'ReviewNodePools', note: message });
  }
}

/** The NodePool and the taint. */
function keyOf({ nodePool, taint }: SeenStartupTaint): string {
  return `${nodePool} ${identity(taint)}`;
}

/** Repeats the {@link poolReview}, for the policies' status. */
export function startPoolReview(run: Run, options: PoolReviewOptions): Controller {
  const { nodes, policies, rights, reports } = options;
  const { signal, log } = run;
  const review = poolReview(options, log, () => changes.next());
  const changes = reports.add({ conditions: (policy) => reported('PoolLacksTaint', review.undeclared(policy)) });
  const reconciler = startController(run, 'node-pools', review.reconcile, { pauseMs: POLICIES_GATHER_MS });
  nodes.changes.subscribe((change) => {
    if (change.type !== 'deleted' && isNews(change) && review.see(change.entry.value)) reconciler.trigger();
  }, signal);
  for (const source of [policies.changes, rights.changes]) source.subscribe(() => reconciler.restart(), signal);
  return reconciler;
}
