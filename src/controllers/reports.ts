import type { PolicyObject } from '../cluster/policies.ts';
import type { StuckPod } from '../judge/findings.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { SelectingKind } from '../policy/policy.ts';
import type { PatchedDaemonSet } from '../policy/policy-status.ts';
import type { NativeReason, ReportedCondition, StalledReason } from '../policy/status-conditions.ts';
import { reported } from '../policy/status-conditions.ts';
import { createSubject, type Source } from '../runtime/source.ts';

interface ProblemOf<Kind, Reason> {
  readonly kind: Kind;
  readonly policy: string;
  readonly reason: Reason;
  /** In one sentence, for people: what it is about, and what to do. */
  readonly message: string;
}

/** What keeps a controller from doing what a policy says. The status shows it as the condition `Stalled`. */
export type StalledProblem = ProblemOf<SelectingKind, StalledReason>;

/** A StalledProblem, or that of a TolerationRestriction, whose status shows it as the condition `Ready`. */
export type ReportedProblem = StalledProblem | ProblemOf<'TolerationRestriction', NativeReason>;

/** The condition `Stalled` for it. A TolerationRestriction has none: its condition `Ready` is False then. */
export function stalledCondition({ kind, reason, message }: ReportedProblem): ReportedCondition[] {
  return kind === 'TolerationRestriction' ? [] : reported('Stalled', { status: 'True', reason, message });
}

/** What a controller can tell: of policies, for their status, and of nodes, for the page. Each is asked when somebody looks. */
export interface Report {
  /** Resolves when the rest may be asked. */
  readonly ready?: Promise<unknown>;
  readonly problems?: () => readonly ReportedProblem[];
  /** Other conditions of the policy than Stalled: `pending` until they are known. */
  readonly conditions?: (policy: PolicyObject) => readonly ReportedCondition[] | 'pending';
  /** How many nodes still lack a taint of the policy that evicts pods, those among them whose turn it is. */
  readonly awaitingEviction?: (policy: Pick<PolicyObject, 'kind' | 'name'>) => number;
  /** The DaemonSets that the policy has patched. */
  readonly patched?: (policy: Pick<PolicyObject, 'kind' | 'name'>) => readonly PatchedDaemonSet[] | undefined;
  /** The pods that landed on the node while a taint was missing, in words. */
  readonly misplacedPodsOn?: (node: string) => string | undefined;
  /** What the startup taints of the node wait for, in words. */
  readonly startupOn?: (node: string) => string | undefined;
  /** The daemon pods that are Failed on a node where they could run, however short the time. */
  readonly stuckPods?: () => readonly StuckPod[];
  /** Whether another writer removes the taint from the node repeatedly. */
  readonly isInConflict?: (node: string, taint: Taint) => boolean;
}

/** What all controllers can tell together: of problems all, in the order in which the controllers came; of the rest, the first answer. */
export interface Reports {
  /** @returns to be called whenever the report may say something else */
  add(report: Report): () => void;
  /** Which of them may say something else. */
  readonly changes: Source<Report>;
  ready(): Promise<unknown>;
  problems(): readonly ReportedProblem[];
  /** Those of all controllers; `pending` while one of them does not know its own. */
  conditions(policy: PolicyObject): readonly ReportedCondition[] | 'pending';
  awaitingEviction(policy: Pick<PolicyObject, 'kind' | 'name'>): number;
  misplacedPodsOn(node: string): string | undefined;
  startupOn(node: string): string | undefined;
  patched(policy: Pick<PolicyObject, 'kind' | 'name'>): readonly PatchedDaemonSet[];
  stuckPods(): readonly StuckPod[];
  isInConflict(node: string, taint: Taint): boolean;
}

export function createReports(): Reports {
  const all: Report[] = [];
  const changes = createSubject<Report>();
  return {
    add(report) {
      all.push(report);
      return () => changes.next(report);
    },
    changes,
    ready: () => Promise.all(all.map(({ ready }) => ready)),
    problems: () => all.flatMap(({ problems }) => problems?.() ?? []),
    conditions(policy) {
      const found = all.map(({ conditions }) => conditions?.(policy) ?? []);
      return found.includes('pending') ? 'pending' : found.flatMap((one) => (one === 'pending' ? [] : one));
    },
    awaitingEviction: (policy) => all.reduce((sum, one) => sum + (one.awaitingEviction?.(policy) ?? 0), 0),
    misplacedPodsOn: (node) => first(({ misplacedPodsOn }) => misplacedPodsOn?.(node)),
    startupOn: (node) => first(({ startupOn }) => startupOn?.(node)),
    patched: (policy) => first(({ patched }) => patched?.(policy)) ?? [],
    stuckPods: () => all.flatMap(({ stuckPods }) => stuckPods?.() ?? []),
    isInConflict: (node, taint) => all.some(({ isInConflict }) => isInConflict?.(node, taint)),
  };

  function first<T>(ask: (report: Report) => T | undefined): T | undefined {
    for (const report of all) {
      const answer = ask(report);
      if (answer !== undefined) return answer;
    }
    return undefined;
  }
}
