import type { PolicyObject } from '../cluster/policies/policy-object.ts';
import type { SelectingKind } from '../policy/policy.ts';
import type { NativeReason, ReportedCondition, StalledReason } from '../policy/reporting/status-conditions.ts';
import { reported } from '../policy/reporting/status-conditions.ts';
import { createSubject, type Source } from '../runtime/source.ts';

interface ProblemOf<Kind, Reason> {
  readonly kind: Kind;
  readonly policy: string;
  readonly reason: Reason;
  /** One sentence: the problem, and what to do. */
  readonly message: string;
}

/** A problem that prevents a controller from enforcing a policy. The status shows it as the condition `Stalled`. */
export type StalledProblem = ProblemOf<SelectingKind, StalledReason>;

/** A StalledProblem, or a problem of a TolerationRestriction. */
export type ReportedProblem = StalledProblem | ProblemOf<'TolerationRestriction', NativeReason | typeof UNKNOWN_FIELDS>;

export const UNKNOWN_FIELDS = 'UnknownFields' satisfies StalledReason;

/** The condition `Stalled` of a problem. If the native policies of a TolerationRestriction are not in force, its condition `Ready` is False instead. */
export function stalledCondition(problem: ReportedProblem): ReportedCondition[] {
  if (!isStalled(problem)) return [];
  const { reason, message } = problem;
  return reported('Stalled', { status: 'True', reason, message });
}

function isStalled(problem: ReportedProblem): problem is ReportedProblem & { readonly reason: StalledReason } {
  return problem.kind !== 'TolerationRestriction' || problem.reason === UNKNOWN_FIELDS;
}

/** What a controller reports about policies, for their status. */
export interface Report {
  /** The controller emits on it whenever the report may have changed. */
  readonly changes: Source;
  /** Resolves when problems and conditions are known. */
  readonly ready?: Promise<unknown>;
  readonly problems?: () => readonly ReportedProblem[];
  /** Other conditions of the policy than Stalled, and notes on one that is in force, as Ready that is True: `pending` until they are known. */
  readonly conditions?: (policy: PolicyObject) => readonly ReportedCondition[] | 'pending';
}

/** The controllers that report. Of problems that are equally bad, the status of a policy has the reason of the first one in this order. */
const REPORTERS = ['rights', 'webhooks', 'nodes', 'daemonSets', 'recovery', 'nodePools', 'backstop'] as const;
export type Reporter = (typeof REPORTERS)[number];

/** The reports of all controllers together. */
export interface Reports {
  add(reporter: Reporter, report: Report): void;
  /** Emits when one of the reports may have changed. */
  readonly changes: Source;
  ready(): Promise<unknown>;
  /** In the order of {@link REPORTERS}. */
  problems(): readonly ReportedProblem[];
  /** The conditions of all controllers; `pending` while those of one are not known. */
  conditions(policy: PolicyObject): readonly ReportedCondition[] | 'pending';
}

export function createReports(): Reports {
  const reports = new Map<Reporter, Report>();
  const inOrder = () => REPORTERS.flatMap((reporter) => reports.get(reporter) ?? []);
  const changes = createSubject();
  return {
    add(reporter, report) {
      reports.set(reporter, report);
      report.changes.subscribe(changes.next);
    },
    changes,
    ready: () => Promise.all(inOrder().map(({ ready }) => ready)),
    problems: () => inOrder().flatMap(({ problems }) => problems?.() ?? []),
    conditions(policy) {
      const found = inOrder().map(({ conditions }) => conditions?.(policy) ?? []);
      return found.includes('pending') ? 'pending' : found.flatMap((one) => (one === 'pending' ? [] : one));
    },
  };
}
