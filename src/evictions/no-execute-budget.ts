import { allow, type Decision, deny, type Outcome, taintViolation, type Violation } from '../judge/decision.ts';
import type { NodeUpdate, NodeView } from '../judge/node-view.ts';
import { formatTaint, identity, type Taint } from '../kubernetes/taint.ts';
import { atMost, count, mark } from '../kubernetes/text.ts';
import type { NoExecuteBudget } from '../policy/guards.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { oncePer } from '../runtime/once-per.ts';
import type { Evicted } from './node-pods.ts';

// All times here are in milliseconds since the epoch, by the clock of the API server.

/** A policy with a budget. */
export type BudgetPolicy = CompiledTaintPolicy & { readonly noExecute: NoExecuteBudget };

export function hasBudget(policy: CompiledTaintPolicy): policy is BudgetPolicy {
  return policy.noExecute !== undefined;
}

/** The nodes that have a place in the budget of one policy. */
export interface Places {
  /** What was counted: see {@link budgetId}. */
  readonly id: string;
  /** When each was last given leave; 0 for a node that was found with such a taint. */
  readonly nodes: ReadonlyMap<string, number>;
}

/** The places of all policies, by their names: what replicas share. A policy that is not there has not been counted yet. */
export type Ledger = ReadonlyMap<string, Places>;

/** What a policy counts, in a few characters: another one counts anew. */
export const budgetId: (policy: BudgetPolicy) => string = oncePer(({ nodeSelector, noExecute }: BudgetPolicy) => {
  const rules = noExecute.rules.map(({ key, value, except }) => [key, value, except]);
  return mark(JSON.stringify([nodeSelector, rules]));
});

/** Whether the node has a place without asking: it carries such a taint. */
export function isCounted({ noExecute }: BudgetPolicy, { taints }: Pick<NodeView, 'taints'>): boolean {
  return taints.some((taint) => taint.effect === 'NoExecute' && noExecute.counts(taint));
}

/** A place that an update asks for. */
export interface Claim {
  readonly policy: BudgetPolicy;
  /** The taints that it adds. */
  readonly taints: readonly Taint[];
}

/**
 * The places that an update asks for: of each policy that is for the node and does not exempt the requester, if the update adds such a
 * taint to a node that has none yet. Another value of a taint that the node has is no addition.
 */
export function budgetClaimsOf(
  { node, oldNode, requester }: Pick<NodeUpdate, 'node' | 'oldNode' | 'requester'>,
  policies: readonly CompiledTaintPolicy[],
): Claim[] {
  const before = new Set(oldNode.taints.map(identity));
  const added = node.taints.filter((taint) => taint.effect === 'NoExecute' && !before.has(identity(taint)));
  if (added.length === 0) return [];
  return policies.filter(hasBudget).flatMap((policy) => {
    const taints = added.filter(policy.noExecute.counts);
    if (taints.length === 0 || isCounted(policy, oldNode) || policy.exempts(requester)) return [];
    // Both sets of labels: a node cannot leave a policy in the same update.
    return policy.selectsNode(oldNode.labels) || policy.selectsNode(node.labels) ? [{ policy, taints }] : [];
  });
}

/** What became of a claim. */
export type Settled = Claim &
  (
    | { readonly result: 'granted' }
    /** `nodes` have the places. */
    | { readonly result: 'full'; readonly nodes: readonly string[] }
    | { readonly result: 'uncounted'; readonly why: string }
  );

const NOT_COUNTED_YET = 'its leader has not counted them yet';

/** Whoever renews within this time writes nothing. */
const RENEW_MS = 5_000;

/**
 * Settles all claims of one update: either all that binding policies ask for are granted, or the update is refused and nothing is
 * taken. In mode Audit a claim beyond the budget takes no place, and stands in nobody's way.
 *
 * @returns the very same ledger where no place was taken
 */
export function settle(
  ledger: Ledger,
  node: string,
  claims: readonly Claim[],
  now: number,
): { readonly ledger: Ledger; readonly settled: readonly Settled[] } {
  const settled = claims.map((claim): Settled => {
    const places = placesOf(ledger, claim.policy);
    if (!places) return { ...claim, result: 'uncounted', why: NOT_COUNTED_YET };
    const { nodes } = places;
    if (nodes.has(node) || nodes.size < claim.policy.noExecute.maxNodes) return { ...claim, result: 'granted' };
    return { ...claim, result: 'full', nodes: [...nodes.keys()].sort() };
  });
  const taken = settled.some(isRefused) ? [] : settled.filter(({ result }) => result === 'granted');
  const stale = taken.filter(({ policy }) => now - (placesOf(ledger, policy)?.nodes.get(node) ?? 0) >= RENEW_MS);
  if (stale.length === 0) return { ledger, settled };
  const next = new Map(ledger);
  for (const { policy } of stale) {
    const nodes = new Map(next.get(policy.name)?.nodes).set(node, now);
    next.set(policy.name, { id: budgetId(policy), nodes });
  }
  return { ledger: next, settled };
}

function placesOf(ledger: Ledger, policy: BudgetPolicy): Places | undefined {
  const places = ledger.get(policy.name);
  return places?.id === budgetId(policy) ? places : undefined;
}

/** Whether the update is refused for it. */
export function isRefused({ policy, result }: Settled): boolean {
  switch (result) {
    case 'granted':
      return false;
    case 'full':
      return policy.mode !== 'Audit';
    case 'uncounted':
      return policy.failurePolicy === 'Fail';
  }
}

/**
 * How long a place stays taken whatever the node carries. The API server ends a request that writes after 34 s at the latest
 * (`requestTimeoutUpperBound` of k8s.io/apiserver/pkg/endpoints/handlers/finisher), and clocks differ by a second or two.
 */
export const GRACE_MS = 45_000;

/** The places that may be free: nobody was given leave lately, and the node is not known to carry such a taint. */
export function doubtful({ nodes }: Places, carriers: ReadonlySet<string>, now: number): string[] {
  return [...nodes].filter(([node, at]) => now - at >= GRACE_MS && !carriers.has(node)).map(([node]) => node);
}

/** In how many milliseconds the next place will be doubtful, of those that nobody uses; undefined for none. */
export function doubtfulInMs({ nodes }: Places, carriers: ReadonlySet<string>, now: number): number | undefined {
  const waits = [...nodes].filter(([node]) => !carriers.has(node)).map(([, at]) => Math.max(1, at + GRACE_MS - now));
  return waits.length === 0 ? undefined : Math.min(...waits);
}

/**
 * The places of a policy as they are to be. As many as there are is enough to list: where the budget is spent, it does not matter
 * by how much.
 *
 * @param before undefined where nothing was counted
 * @param carriers the nodes that the policy is for and that carry such a taint, as a watch shows them
 * @param free of the {@link doubtful} ones those that have none, as the API server has said since
 * @returns `before` itself where it is right
 */
export function recount(
  policy: BudgetPolicy,
  before: Places | undefined,
  carriers: ReadonlySet<string>,
  free: ReadonlySet<string>,
): Places {
  const id = budgetId(policy);
  const kept = new Map([...(before?.nodes ?? [])].filter(([node]) => !free.has(node)));
  for (const node of carriers) {
    if (kept.size >= policy.noExecute.maxNodes) break;
    if (!kept.has(node)) kept.set(node, 0);
  }
  const isRight =
    before?.id === id && kept.size === before.nodes.size && [...kept.keys()].every((node) => before.nodes.has(node));
  return isRight ? before : { id, nodes: kept };
}

/** Nodes that a message names. */
const MAX_NAMED = 5;
const FIELD = 'spec.noExecute';

/**
 * The decision with what became of the claims in it.
 * @param evicted what the taints would drive away; undefined where that is not known
 */
export function withBudget(
  decision: Decision<unknown>,
  node: string,
  settled: readonly Settled[],
  evicted: Evicted | undefined,
): Decision<unknown> {
  if (decision.verdict === 'deny') return decision;
  const refused = settled.filter(isRefused);
  if (refused.length > 0) {
    const sentences = refused.map((one) => `${saying(node, one)}.`);
    return deny(
      [...sentences, ...lossOf(evicted), ...advice(refused)].join(' '),
      refused.flatMap((one) => violations(one, 'postponed')),
    );
  }
  const passed = settled.filter(({ result }) => result !== 'granted');
  if (passed.length === 0) return decision;
  const found = passed.flatMap((one) => violations(one, one.result === 'full' ? 'over-budget' : 'uncounted'));
  const warnings = passed.map(({ policy, result }) =>
    result === 'full'
      ? `TaintPolicy ${policy.name}, Audit: more than ${policy.noExecute.maxNodes} nodes carry a NoExecute taint`
      : `TaintPolicy ${policy.name}: nodes with a NoExecute taint were not counted`,
  );
  return allow([...decision.violations, ...found], [...decision.warnings, ...warnings]);
}

function saying(node: string, settled: Settled): string {
  const { policy, taints } = settled;
  const { maxNodes } = policy.noExecute;
  const by = `TaintPolicy "${policy.name}" (${FIELD}, mode ${policy.mode}) lets ${count(maxNodes, 'node')} carry such a taint at a time`;
  const what = `node ${node} may not get taint ${taints.map(formatTaint).join(' and ')} now: ${by}`;
  if (settled.result === 'full') {
    const named = atMost(MAX_NAMED, settled.nodes).join(', ');
    return `${what}, and ${settled.nodes.length === 1 ? `${named} does` : `${named} do`}, or may be about to`;
  }
  return settled.result === 'uncounted' ? `${what}, and taintkeeper cannot count them: ${settled.why}` : what;
}

function lossOf(evicted: Evicted | undefined): string[] {
  if (!evicted) return [];
  const { atOnce, later } = evicted;
  const more = later === 0 ? '' : `, and ${later} more once their tolerationSeconds are over`;
  return [`It would evict ${count(atOnce, 'pod')} from this node${more}.`];
}

function advice(refused: readonly Settled[]): string[] {
  const isFull = refused.some(({ result }) => result === 'full');
  return isFull
    ? [
        `Take the taint off another node first: its place is free ${GRACE_MS / 1_000} s after it was taken at the earliest.`,
      ]
    : ['Try again.'];
}

function violations({ policy, taints }: Settled, outcome: Outcome): Violation[] {
  return taints.map((taint) => taintViolation(policy, FIELD, taint, outcome));
}
