import { formatLabels } from '../kubernetes/label-selector.ts';
import { mark } from '../kubernetes/text.ts';
import { POLICY_API_VERSION, type PolicyKind } from '../policy/policy.ts';
import type { PolicyStatus } from '../policy/policy-status.ts';
import { assessCondition, saysUnusable } from '../policy/status-conditions.ts';
import { MANAGED_LABELS } from './object-meta.ts';

/** The API of OpenReports: https://github.com/openreports/reports-api */
export const REPORT_API_VERSION = 'openreports.io/v1alpha1';

/** How many results a report lists: some 50 KB, for any size of the cluster. Its summary counts all of them. */
export const MAX_RESULTS = 100;

/** The label with the uid of the policy, because a policy that is deleted and created again is another one. */
const POLICY_LABEL = 'taintkeeper.dev/policy-uid';
/** How many results the report counts and does not list. */
const OMITTED_ANNOTATION = 'taintkeeper.dev/omitted-results';

/** A valid name of an object (RFC 1123, subdomain). */
const NAME_MAX_LENGTH = 253;

/** A reference to the object of a result (v1.ObjectReference). */
export interface Subject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
}

/** An object that a policy selects. */
export interface Checked {
  readonly subject: Subject;
  /** How it differs from the policy. Undefined if it does not. */
  readonly fault: (() => string) | undefined;
}

const OUTCOMES = ['error', 'fail', 'warn', 'skip', 'pass'] as const;
type Outcome = (typeof OUTCOMES)[number];

/** A ReportResult without its time. */
interface Result {
  readonly source: 'taintkeeper';
  readonly policy: string;
  readonly rule: string;
  readonly category: string;
  readonly severity: 'high' | 'medium' | 'info';
  readonly result: Outcome;
  readonly scored: boolean;
  readonly resources: readonly Subject[];
  readonly message: string;
  readonly properties?: Readonly<Record<string, string>>;
}

interface TimedResult extends Result {
  readonly timestamp: { readonly seconds: number; readonly nanos: number };
}

/** The fields of a ClusterReport that taintkeeper writes. */
export interface ClusterReport<R extends Result = Result> {
  readonly apiVersion: typeof REPORT_API_VERSION;
  readonly kind: 'ClusterReport';
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly source: 'taintkeeper';
  readonly configuration: { readonly limits: { readonly maxResults: number } };
  readonly summary: Readonly<Record<Outcome, number>>;
  readonly results: readonly R[];
}

export interface ReportInput {
  readonly policy: { readonly kind: PolicyKind; readonly name: string; readonly uid: string };
  /** As written in the policy. */
  readonly status: PolicyStatus;
  /** The objects that the policy selects. Undefined if nothing of it is in force. */
  readonly checked: readonly Checked[] | undefined;
}

const KINDS: Readonly<Record<PolicyKind, { readonly rule: string; readonly category: string; readonly of: string }>> = {
  TaintPolicy: { rule: 'taints', category: 'Node taints', of: 'node' },
  TolerationPolicy: { rule: 'tolerations', category: 'DaemonSet tolerations', of: 'DaemonSet' },
  TolerationRestriction: { rule: 'restricted-tolerations', category: 'Restricted tolerations', of: 'pod' },
  RecoveryPolicy: { rule: 'stuck-pods', category: 'Stuck daemon pods', of: 'DaemonSet' },
};

/**
 * The report of a policy, with violations first. The results follow the definitions of OpenReports. `fail` is an object that differs from the policy,
 * in every mode, because a mode says what is done about it. `warn` does not count in scores: the policy itself is not fully enforced. `error` means
 * that it cannot be used, and `skip` that it selects nothing.
 */
export function clusterReport({ policy, status, checked }: ReportInput): ClusterReport {
  const { rule, category, of } = KINDS[policy.kind];
  const { mode, conditions = [] } = status;
  const itself: Subject = {
    apiVersion: POLICY_API_VERSION,
    kind: policy.kind,
    name: policy.name,
    uid: policy.uid,
  };
  const said = (result: Outcome, subject: Subject, message: string): Result => ({
    source: 'taintkeeper',
    policy: policy.name,
    rule,
    category,
    severity: severityOf(result, mode),
    result,
    scored: result !== 'warn' && result !== 'skip',
    resources: [subject],
    message,
    ...(mode === undefined ? {} : { properties: { mode } }),
  });

  const invalid = conditions.find(saysUnusable);
  const problems = conditions.filter(
    (one) => !saysUnusable(one) && ['failed', 'problem'].includes(assessCondition(one).level),
  );
  const failing = (checked ?? []).flatMap(({ subject, fault }) => (fault ? [{ subject, fault }] : []));
  const passing = (checked ?? []).filter(({ fault }) => fault === undefined);
  const results = [
    ...(invalid ? [said('error', itself, invalid.message)] : []),
    ...first(failing).map(({ subject, fault }) => said('fail', subject, fault())),
    ...problems.map(({ message }) => said('warn', itself, message)),
    ...(checked?.length === 0 ? [said('skip', itself, `it selects no ${of}`)] : []),
    ...first(passing).map(({ subject }) => said('pass', subject, 'it is as the policy declares')),
  ].slice(0, MAX_RESULTS);
  const summary = {
    error: invalid ? 1 : 0,
    fail: failing.length,
    warn: problems.length,
    skip: checked?.length === 0 ? 1 : 0,
    pass: passing.length,
  };
  const omitted = OUTCOMES.reduce((sum, outcome) => sum + summary[outcome], 0) - results.length;
  return {
    apiVersion: REPORT_API_VERSION,
    kind: 'ClusterReport',
    metadata: {
      name: reportName(policy),
      labels: { ...MANAGED_LABELS, [POLICY_LABEL]: policy.uid },
      ...(omitted > 0 ? { annotations: { [OMITTED_ANNOTATION]: String(omitted) } } : {}),
    },
    source: 'taintkeeper',
    configuration: { limits: { maxResults: MAX_RESULTS } },
    summary,
    results,
  };
}

/** As many as fit into a report, by name, so that they keep their places. */
function first<T extends Pick<Checked, 'subject'>>(all: readonly T[]): T[] {
  return all.slice(0, MAX_RESULTS).sort((a, b) => (placeOf(a.subject) < placeOf(b.subject) ? -1 : 1));
}

function placeOf({ namespace = '', name }: Subject): string {
  return `${namespace}/${name}`;
}

/** A violation of an enforced policy is more urgent than one of a policy that only audits. */
function severityOf(result: Outcome, mode: string | undefined): Result['severity'] {
  if (result === 'pass' || result === 'skip') return 'info';
  return result === 'error' || (result === 'fail' && mode !== 'Audit') ? 'high' : 'medium';
}

/** `taintkeeper-taintpolicy-NAME`. A name that is too long is shortened, with a mark at its end. */
export function reportName({ kind, name }: Pick<ReportInput['policy'], 'kind' | 'name'>): string {
  const whole = `taintkeeper-${kind.toLowerCase()}-${name}`;
  if (whole.length <= NAME_MAX_LENGTH) return whole;
  const end = `-${mark(whole)}`;
  return whole.slice(0, NAME_MAX_LENGTH - end.length).replace(/[.-]+$/, '') + end;
}

/** Selects the reports of other writers. */
export const NOT_OURS = Object.entries(MANAGED_LABELS)
  .map(([key, value]) => `${key}!=${value}`)
  .join();

/** The message, and the remedy, for a report of that name that is {@link NOT_OURS}. */
export function nameTaken(policy: Pick<ReportInput['policy'], 'kind' | 'name'>): { evidence: string; remedy: string } {
  const name = reportName(policy);
  return {
    evidence: `${policy.kind} ${policy.name} has no report: ClusterReport ${name} lacks the label ${formatLabels(MANAGED_LABELS)}, so another writer made it, and it is not overwritten`,
    remedy: `if it is not needed: kubectl delete clusterreport ${name}`,
  };
}

/** A report of the policy's name is {@link NOT_OURS}. */
export class NameTakenError extends Error {
  override name = 'NameTakenError';

  constructor(policy: Pick<ReportInput['policy'], 'kind' | 'name'>) {
    const { evidence, remedy } = nameTaken(policy);
    super(`${evidence}; ${remedy}`);
  }
}

/** The uid of the policy of a report. */
export function reportedPolicy({ metadata }: Pick<ClusterReport, 'metadata'>): string | undefined {
  return metadata.labels?.[POLICY_LABEL];
}

/** The report with the time of each result: when it was found. A result that has not changed keeps its time. */
export function timed(report: ClusterReport, before: ClusterReport<TimedResult> | undefined, now: Date) {
  // Another writer may have left results without resources.
  const known = new Map(before?.results?.map((result) => [identityOf(result), result.timestamp]));
  const found = { seconds: Math.floor(now.getTime() / 1_000), nanos: 0 };
  return {
    ...report,
    results: report.results.map((result) => ({ ...result, timestamp: known.get(identityOf(result)) ?? found })),
  } satisfies ClusterReport<TimedResult>;
}

export type TimedReport = ReturnType<typeof timed>;

function identityOf({ result, resources }: Pick<Result, 'result'> & Partial<Pick<Result, 'resources'>>): string {
  return [
    result,
    ...(resources ?? []).map(({ kind, namespace, name, uid }) => [kind, namespace, name, uid].join('/')),
  ].join();
}
