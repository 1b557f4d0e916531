import type { Judgement } from '../admission/admit.ts';
import type { AdmissionRequest } from '../admission/review.ts';
import type { Claim, Settled } from '../evictions/no-execute-budget.ts';
import { isRefused, settle, withBudget } from '../evictions/no-execute-budget.ts';
import { type Evicted, evictedBy } from '../evictions/node-pods.ts';
import type { Decision } from '../judge/decision.ts';
import { slots } from '../runtime/rate-limit.ts';
import { startTimer } from '../runtime/timer.ts';
import { type ApiClient, messageOf } from './client/api-client.ts';
import { isConflict, isForbidden } from './client/api-error.ts';
import { ledgerStore } from './lease/budget-ledger.ts';
import { listNodePods } from './node-pods.ts';
import { whoWeAre } from './optional-rights.ts';

/** The webhook's timeout is two seconds: what has no place by then is answered without one. */
const SETTLE_MS = 1_100;
/** To count what a refused taint would evict. */
const PODS_MS = 400;
/** Nodes whose pods are listed at the same time: each answer may have a megabyte. */
const LISTS_AT_ONCE = 4;
/** Who may not list pods is asked again after this time. */
const FORBIDDEN_MS = 60_000;

/** An update that is let through if its claims are granted. */
export interface ClaimingUpdate {
  readonly node: string;
  readonly username: string;
  readonly claims: readonly Claim[];
  readonly dryRun: boolean;
  /** What is said of it besides. */
  readonly decision: Decision<unknown>;
}

export function claimingUpdate(
  { name, userInfo, dryRun }: AdmissionRequest,
  { claims = [], decision }: Judgement,
): ClaimingUpdate {
  return { node: name ?? '', username: userInfo.username ?? '', dryRun: dryRun ?? false, claims, decision };
}

interface Ask extends Pick<ClaimingUpdate, 'node' | 'claims' | 'dryRun'> {
  /** By performance.now(). */
  readonly deadline: number;
  readonly resolve: (settled: readonly Settled[]) => void;
}

/**
 * Settles claims to places in budgets. All updates that wait are settled by one read of the ledger and one write at most: whatever
 * is granted stands there before its update is let through. A dry run takes no place. What taintkeeper itself writes has a pace of
 * its own, and is not asked about.
 *
 * @returns what settles one update, within a second and a half; it does not reject
 */
export function budgetClaims(options: {
  readonly client: ApiClient;
  readonly namespace: string;
  /** Name of the Lease that says which replica leads. */
  readonly lease: string;
}): (update: ClaimingUpdate) => Promise<Decision<unknown>> {
  const { client } = options;
  const store = ledgerStore(client, options.namespace, options.lease);
  const inSlot = slots(LISTS_AT_ONCE);
  const waiting: Ask[] = [];
  let isRunning = false;
  let own: Promise<string | undefined> | undefined;
  let forbiddenUntil = 0;

  return async ({ node, username, claims, dryRun, decision }) => {
    const deadline = performance.now() + SETTLE_MS;
    if (username === (await nameOfOurs())) return decision;
    const settled = await placesFor({ node, claims, dryRun, deadline });
    return withBudget(decision, node, settled, settled.some(isRefused) ? await evictedOn(node, claims) : undefined);
  };

  async function nameOfOurs(): Promise<string | undefined> {
    own ??= whoWeAre(client, SETTLE_MS / 2).then(
      ({ username } = {}) => username,
      () => {
        own = undefined;
        return undefined;
      },
    );
    return own;
  }

  function placesFor(update: Omit<Ask, 'resolve'>): Promise<readonly Settled[]> {
    const { promise, resolve } = Promise.withResolvers<readonly Settled[]>();
    const giveUp = () => resolve(uncounted(update.claims, 'the API server takes too long'));
    const late = startTimer(giveUp, update.deadline - performance.now());
    waiting.push({ ...update, resolve });
    if (!isRunning) void settleAll();
    return promise.finally(() => clearTimeout(late));
  }

  async function settleAll(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0);
      try {
        await settleTogether(batch);
      } catch (error) {
        for (const { claims, resolve } of batch) resolve(uncounted(claims, messageOf(error)));
      }
    }
    isRunning = false;
  }

  /** @throws ApiError, Error: then none of those has an answer that have not resolved */
  async function settleTogether(batch: readonly Ask[]): Promise<void> {
    for (;;) {
      const asks = batch.filter(({ deadline }) => deadline > performance.now());
      if (asks.length === 0) return;
      const timeoutMs = Math.ceil(Math.max(...asks.map(({ deadline }) => deadline)) - performance.now());
      const stored = await store.read({ timeoutMs });
      let { ledger } = stored;
      const answers = asks.map((ask) => {
        const before = ledger;
        const { ledger: after, settled } = settle(before, ask.node, ask.claims, client.now().getTime());
        if (!ask.dryRun) ledger = after;
        return { ask, settled };
      });
      try {
        if (ledger !== stored.ledger) await store.write(stored, ledger, { timeoutMs });
      } catch (error) {
        if (isConflict(error)) continue;
        // A refusal needs no place.
        for (const { ask, settled } of answers) if (settled.some(isRefused)) ask.resolve(settled);
        throw error;
      }
      for (const { ask, settled } of answers) ask.resolve(settled);
      return;
    }
  }

  /** Undefined where that cannot be found out in time. */
  async function evictedOn(node: string, claims: readonly Claim[]): Promise<Evicted | undefined> {
    if (performance.now() < forbiddenUntil) return undefined;
    const signal = AbortSignal.timeout(PODS_MS);
    try {
      const taints = claims.flatMap((claim) => claim.taints);
      return evictedBy(taints, await inSlot(() => listNodePods(client, node, signal)));
    } catch (error) {
      if (isForbidden(error)) forbiddenUntil = performance.now() + FORBIDDEN_MS;
      return undefined;
    }
  }
}

function uncounted(claims: readonly Claim[], why: string): Settled[] {
  return claims.map((claim): Settled => ({ ...claim, result: 'uncounted', why }));
}
