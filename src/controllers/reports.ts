import type { PolicyObject } from '../cluster/policy-object.ts';
import type { SelectingKind } from '../policy/policy.ts';
import type { NativeReason, ReportedCondition, StalledReason } from '../policy/status-conditions.ts';
import { reported } from '../policy/status-conditions.ts';
import { createSubject, type Source, type Subject } from '../runtime/source.ts';

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

/** What a controller has to say of policies, for their status. */
export interface Report {
  /** Resolves when the rest may be asked. */
  readonly ready?: Promise<unknown>;
  readonly problems?: () => readonly ReportedProblem[];
  /** Other conditions of the policy than Stalled: `pending` until they are known. */
  readonly conditions?: (policy: PolicyObject) => readonly ReportedCondition[] | 'pending';
}

/** The reports of all controllers together. */
export interface Reports {
  /** @returns the controller emits on it whenever its report may have changed */
  add(report: Report): Subject;
  /** Emits when one of the reports may have changed. */
  readonly changes: Source;
  ready(): Promise<unknown>;
  /** In the order in which the reports were added: a policy's status has the reason of the first one. */
  problems(): readonly ReportedProblem[];
  /** Those of all controllers; `pending` while one of them does not know its own. */
  conditions(policy: PolicyObject): readonly ReportedCondition[] | 'pending';
}

export function createReports(): Reports {
  const all: Report[] = [];
  const changes = createSubject();
  return {
    add(report) {
      all.push(report);
      const own = createSubject();
      own.subscribe(changes.next);
      return own;
    },
    changes,
    ready: () => Promise.all(all.map(({ ready }) => ready)),
    problems: () => all.flatMap(({ problems }) => problems?.() ?? []),
    conditions(policy) {
      const found = all.map(({ conditions }) => conditions?.(policy) ?? []);
      return found.includes('pending') ? 'pending' : found.flatMap((one) => (one === 'pending' ? [] : one));
    },
  };
}
