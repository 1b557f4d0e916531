import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import type { Loss } from '../../judge/node-drift.ts';
import { formatTaint, identity, type Taint } from '../../kubernetes/taint.ts';
import { createAttempts } from '../../runtime/back-off.ts';
import type { ReportedProblem } from '../reports.ts';
import type { ClusterNode } from '../sources.ts';
import { otherWriterOf, problemsOf } from './other-writers.ts';

/** Nodes that the API server does not let be put right: for want of a right, or because another webhook objects. */
export interface RefusedRepairs {
  /** @param message what the API server says, the node's name included */
  refused(node: string, losses: readonly Loss[], message: string): void;
  /** The node was written, needs nothing, or is gone. */
  over(node: string): void;
  has(node: string): boolean;
  problems(): readonly ReportedProblem[];
}

export function trackRefusedRepairs(onChange: () => void): RefusedRepairs {
  const refusals = new Map<string, { readonly policies: ReadonlySet<string>; readonly message: string }>();

  return {
    refused(node, losses, message) {
      const policies = new Set(losses.flatMap(({ policy, hindrance }) => (hindrance ? [] : [policy.name])));
      refusals.set(node, { policies, message });
      onChange();
    },
    over(node) {
      if (refusals.delete(node)) onChange();
    },
    has: (node) => refusals.has(node),
    problems: () =>
      problemsOf(
        Array.from(refusals.values(), ({ policies, message }) => ({ policies, text: message })),
        'RepairRefused',
        (messages) => `the API server refuses the updates that restore taints: ${messages.join(', ')}`,
      ),
  };
}

/** A taint that was put back so often within the window, and is lost again, is fought over. */
export const FIGHT = { limit: 3, windowMs: 600_000 } as const;

/** Breaks the circuit between taintkeeper and whoever takes away what it puts back. */
export interface TaintContests {
  /** A taint was put back. */
  repaired(node: Entry<ClusterNode>, taint: Taint): void;
  isContested(node: Entry<ClusterNode>, taint: Taint): boolean;
  /** Finds out who takes the taint of a contested loss away. */
  open(node: Entry<ClusterNode>, loss: Loss): Promise<void>;
  /** Who that was, for people. */
  rivalOf(node: Entry<ClusterNode>, taint: Taint): string | undefined;
  /** In how many milliseconds one of the node's contested taints may be put back again, or its contest is over. */
  nextLookMs(node: Entry<ClusterNode>): number | undefined;
  /** Ends those in which nothing has happened for the length of the window. */
  closeOld(): void;
  problems(): readonly ReportedProblem[];
}

interface Contest {
  /** Name of the node. */
  readonly node: string;
  readonly taint: Taint;
  readonly policies: Set<string>;
  readonly rival: string | undefined;
}

export function trackTaintContests(options: { client: ApiClient; onChange: () => void }): TaintContests {
  const { client, onChange } = options;
  const repairs = createAttempts();
  const contests = new Map<string, Contest>();
  /** The keys of each node's contests, by its name: each node is looked at in every sweep. */
  const keysByNode = new Map<string, Set<string>>();
  const keyOf = ({ uid }: Entry<ClusterNode>, taint: Taint) => `${uid} ${identity(taint)}`;
  const repairsOf = (key: string) => repairs.within(key, FIGHT.windowMs, performance.now());

  function close(key: string): void {
    const name = contests.get(key)?.node ?? '';
    contests.delete(key);
    const keys = keysByNode.get(name);
    keys?.delete(key);
    if (keys?.size === 0) keysByNode.delete(name);
    onChange();
  }

  return {
    repaired: (node, taint) => repairs.record(keyOf(node, taint), performance.now()),
    isContested: (node, taint) => repairsOf(keyOf(node, taint)).length >= FIGHT.limit,
    async open(node, { taint, policy }) {
      const key = keyOf(node, taint);
      const known = contests.get(key);
      if (known?.policies.has(policy.name)) return;
      const rival = known?.rival ?? (await otherWriterOf(client, node.name, ['spec', 'taints']));
      contests.set(key, { node: node.name, taint, policies: new Set(known?.policies).add(policy.name), rival });
      keysByNode.set(node.name, (keysByNode.get(node.name) ?? new Set()).add(key));
      onChange();
    },
    rivalOf: (node, taint) => contests.get(keyOf(node, taint))?.rival,
    nextLookMs(node) {
      const now = performance.now();
      const waits = [...(keysByNode.get(node.name) ?? [])].flatMap((key) => {
        const [first] = repairsOf(key);
        if (first === undefined) close(key);
        return first === undefined ? [] : [first + FIGHT.windowMs - now];
      });
      return waits.length === 0 ? undefined : Math.max(1, Math.min(...waits));
    },
    closeOld() {
      repairs.forget(FIGHT.windowMs, performance.now());
      for (const key of contests.keys()) if (repairsOf(key).length === 0) close(key);
    },
    problems: () =>
      problemsOf(
        Array.from(contests.values(), (contest) => ({ policies: contest.policies, text: textOf(contest) })),
        'TaintContested',
        (texts) => `not restored for now, because they are removed each time: ${texts.join(', ')}`,
      ),
  };
}

function textOf({ node, taint, rival }: Contest): string {
  return `taint ${formatTaint(taint)} of node ${node}${rival === undefined ? '' : `, by ${rival}`}`;
}
