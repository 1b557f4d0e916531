import type { PolicyObject } from '../cluster/policies.ts';
import type { StuckPod } from '../judge/findings.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { NativePurpose } from '../policy/backstop.ts';
import type { PolicyKind } from '../policy/policy.ts';
import type { ConditionState, PatchedDaemonSet } from '../policy/policy-status.ts';
import type { NativeCondition, StalledReason } from '../policy/status-conditions.ts';
import { createSubject, type Source } from '../runtime/source.ts';

/** What keeps a controller from doing what a policy says. The policy's status shows it as its condition `Stalled`. */
export interface Trouble {
  readonly kind: PolicyKind;
  readonly policy: string;
  readonly reason: StalledReason;
  /** In one sentence, for people: what it is about, and what to do. */
  readonly message: string;
}

/** Whether the API server calls the webhook for what a valid policy needs: yes, soon, or why not. */
export type Standing = 'registered' | 'pending' | { readonly fault: string };

/** The conditions of a policy about its native policies: none for what it does not ask for. */
export type NativeConditions = Readonly<Partial<Record<NativePurpose, NativeCondition>>>;

/** How far a policy is with a taint that evicts pods. */
export interface Evicting {
  /** How many nodes still lack it, those among them whose turn it is. */
  readonly nodes: number;
  /** The condition `Evicting`: undefined while none waits for its turn. */
  readonly condition: ConditionState | undefined;
}

/** What a controller can tell: of policies, for their status, and of nodes, for the page. Each is asked when somebody looks. */
export interface Report {
  /** Resolves when the rest may be asked. */
  readonly ready?: Promise<unknown>;
  readonly troubles?: () => readonly Trouble[];
  readonly standing?: (policy: PolicyObject) => Standing;
  /** Why it is not known whether the API server reaches the webhook that is registered, or undefined if it is. */
  readonly unverified?: () => string | undefined;
  /** How its native policies stand: `pending` while nobody has looked. */
  readonly natives?: (policy: PolicyObject) => NativeConditions | 'pending';
  readonly evicting?: (policy: Pick<PolicyObject, 'kind' | 'name'>) => Evicting | undefined;
  /** The condition `PoolLacksTaint` of the policy, if any. */
  readonly undeclared?: (policy: Pick<PolicyObject, 'kind' | 'name'>) => ConditionState | undefined;
  /** The condition `MisplacedPods`: undefined while there are none. */
  readonly misplacedPods?: (policy: Pick<PolicyObject, 'kind' | 'name'>) => ConditionState | undefined;
  /** The DaemonSets that the policy has patched. */
  readonly patched?: (policy: Pick<PolicyObject, 'kind' | 'name'>) => readonly PatchedDaemonSet[] | undefined;
  /** The pods that landed on the node while a taint was missing, in words. */
  readonly misplacedPodsOn?: (node: string) => string | undefined;
  /** The daemon pods that are Failed on a node where they could run, however short the time. */
  readonly stuckPods?: () => readonly StuckPod[];
  /** Whether the taint is left to whoever takes it away from the node each time. */
  readonly isContested?: (node: string, taint: Taint) => boolean;
}

/** What all controllers can tell together: of troubles all, in the order in which the controllers came; of the rest, the first answer. */
export interface Reports {
  /** @returns to be called whenever the report may say something else */
  add(report: Report): () => void;
  /** Which of them may say something else. */
  readonly changes: Source<Report>;
  ready(): Promise<unknown>;
  troubles(): readonly Trouble[];
  standing(policy: PolicyObject): Standing;
  unverified(): string | undefined;
  natives(policy: PolicyObject): NativeConditions | 'pending';
  evicting(policy: Pick<PolicyObject, 'kind' | 'name'>): Evicting | undefined;
  undeclared(policy: Pick<PolicyObject, 'kind' | 'name'>): ConditionState | undefined;
  misplacedPods(policy: Pick<PolicyObject, 'kind' | 'name'>): ConditionState | undefined;
  misplacedPodsOn(node: string): string | undefined;
  patched(policy: Pick<PolicyObject, 'kind' | 'name'>): readonly PatchedDaemonSet[];
  stuckPods(): readonly StuckPod[];
  isContested(node: string, taint: Taint): boolean;
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
    troubles: () => all.flatMap(({ troubles }) => troubles?.() ?? []),
    standing: (policy) => first(({ standing }) => standing?.(policy)) ?? 'pending',
    unverified: () => first(({ unverified }) => unverified?.()),
    natives: (policy) => first(({ natives }) => natives?.(policy)) ?? {},
    evicting: (policy) => first(({ evicting }) => evicting?.(policy)),
    undeclared: (policy) => first(({ undeclared }) => undeclared?.(policy)),
    misplacedPods: (policy) => first(({ misplacedPods }) => misplacedPods?.(policy)),
    misplacedPodsOn: (node) => first(({ misplacedPodsOn }) => misplacedPodsOn?.(node)),
    patched: (policy) => first(({ patched }) => patched?.(policy)) ?? [],
    stuckPods: () => all.flatMap(({ stuckPods }) => stuckPods?.() ?? []),
    isContested: (node, taint) => all.some(({ isContested }) => isContested?.(node, taint)),
  };

  function first<T>(ask: (report: Report) => T | undefined): T | undefined {
    for (const report of all) {
      const answer = ask(report);
      if (answer !== undefined) return answer;
    }
    return undefined;
  }
}
