import { isConflict, isNotFound } from '../../cluster/client/api-error.ts';
import { ledgerStore } from '../../cluster/lease/budget-ledger.ts';
import type { ClusterPolicies } from '../../cluster/policies.ts';
import {
  type BudgetPolicy,
  doubtful,
  doubtfulInMs,
  hasBudget,
  isCounted,
  type Places,
  recount,
} from '../../evictions/no-execute-budget.ts';
import type { NodeView } from '../../judge/node-view.ts';
import { orAborted } from '../../runtime/pause.ts';
import { type Controller, type LeaderContext, startController } from '../context.ts';
import { projectNode } from '../sources.ts';

export type BudgetPlacesContext = Pick<
  LeaderContext,
  'client' | 'namespace' | 'lease' | 'nodes' | 'synced' | 'metrics' | 'log' | 'signal'
> & { readonly policies: Pick<ClusterPolicies, 'snapshot' | 'changes'> };

/** What other replicas have written since is looked at again after this time. */
const LOOK_AGAIN_MS = 15_000;
/** Each run looks at all nodes. */
const PAUSE_MS = 200;
/** Another replica was faster. */
const CONFLICT_PAUSE_MS = 50;

/** Counts the nodes that have a place in a budget of NoExecute taints: replicas give places, the leader finds out which are free. */
export function startBudgetPlaces(context: BudgetPlacesContext): Controller {
  const { client, namespace, lease, nodes, synced, policies, signal } = context;
  const store = ledgerStore(client, namespace, lease);
  /** Of each policy, by name, the nodes that carried such a taint in the last run that came to its end. */
  let counted: ReadonlyMap<string, string> = new Map();
  /** When that is to be looked at again in any case, by performance.now(). */
  let dueAt = 0;
  const reconciler = startController(context, 'budget-places', reconcile, { pauseMs: PAUSE_MS });
  nodes.news.subscribe(() => reconciler.trigger(), signal);
  policies.changes.subscribe(() => reconciler.trigger(), signal);
  return reconciler;

  async function reconcile(): Promise<number | undefined> {
    await orAborted(synced, signal);
    const budgets = policies.snapshot().compiled.taintPolicies.filter(hasBudget);
    // What is left of others is as it may be: they are counted anew.
    if (budgets.length === 0) return undefined;
    const carriers = new Map(budgets.map((policy) => [policy, carriersOf(policy)]));
    const found = new Map([...carriers].map(([policy, names]) => [keyOf(policy), [...names].sort().join()]));
    const isKnown = found.size === counted.size && [...found].every(([key, names]) => counted.get(key) === names);
    if (isKnown && performance.now() < dueAt) return Math.max(1, dueAt - performance.now());

    const stored = await store.read();
    const now = client.now().getTime();
    let nextMs = LOOK_AGAIN_MS;
    const ledger = new Map<string, Places>();
    for (const [policy, names] of carriers) {
      const before = stored.ledger.get(policy.name);
      const free = before ? await freeAmong(doubtful(before, names, now), policy) : [];
      const places = recount(policy, before, names, new Set(free));
      ledger.set(policy.name, places);
      nextMs = Math.min(nextMs, doubtfulInMs(places, names, now) ?? nextMs);
    }
    const isRight =
      ledger.size === stored.ledger.size && [...ledger].every(([name, places]) => stored.ledger.get(name) === places);
    try {
      if (!isRight) await store.write(stored, ledger);
    } catch (error) {
      if (isConflict(error)) return CONFLICT_PAUSE_MS;
      throw error;
    }
    counted = found;
    dueAt = performance.now() + nextMs;
    return nextMs;
  }

  function carriersOf(policy: BudgetPolicy): ReadonlySet<string> {
    const names = new Set<string>();
    for (const { name, value } of nodes.entries()) if (takesPlace(value, policy)) names.add(name);
    return names;
  }

  /** A watch may lag behind: before a place is given to somebody else, the API server is asked. */
  async function freeAmong(names: readonly string[], policy: BudgetPolicy): Promise<string[]> {
    const free: string[] = [];
    for (const name of names) {
      const node = await readNode(name);
      if (!node || !takesPlace(node, policy)) free.push(name);
    }
    return free;
  }

  async function readNode(name: string): Promise<NodeView | undefined> {
    try {
      return projectNode(await client.request('GET', `/api/v1/nodes/${encodeURIComponent(name)}`));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

function takesPlace(node: NodeView, policy: BudgetPolicy): boolean {
  return policy.selectsNode(node.labels) && isCounted(policy, node);
}

function keyOf({ name, noExecute, nodeSelector }: BudgetPolicy): string {
  return JSON.stringify([name, noExecute.maxNodes, noExecute.rules, nodeSelector]);
}
