import type { Admission } from '../../admission/simulate-admission.ts';
import type { Level } from '../../explain/display.ts';
import { KUBECTL_YAML, yamlText } from '../../files/printed-data.ts';
import { type Outcome, outcomeText } from '../../judge/outcomes.ts';
import type { Violation } from '../../judge/violation.ts';
import { pointerNames } from '../../kubernetes/json-patch.ts';
import { objectTitle } from '../../kubernetes/object-title.ts';
import { printable } from '../../text/printable.ts';
import { OUTPUT_FORMATS } from '../options.ts';
import { asAnnotations, asSarif, type CiResult, placeIn } from '../output/ci-results.ts';
import { formatAs } from '../output/format.ts';
import type { Look } from '../output/look.ts';
import { columns } from '../output/table.ts';

/** `github` and `sarif` are for pipelines. */
export const REVIEW_FORMATS = [...OUTPUT_FORMATS, 'github', 'sarif'] as const;
export type ReviewFormat = (typeof REVIEW_FORMATS)[number];

/** One object of the input, and its admission. */
export interface ReviewedObject {
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly operation: string;
  /** `file:line:column` */
  readonly place: string;
  readonly admission: Admission;
  readonly refusals: readonly Refusal[];
}

/** Why the API server refuses an object. */
export interface Refusal {
  /** `file:line:column` of the field. */
  readonly place: string;
  /** For example `spec.template.spec.tolerations[0].operator`. */
  readonly field: string;
  readonly message: string;
}

/** True for an object that a policy denies, or the API server refuses. */
export function isRefused(object: ReviewedObject): boolean {
  return ['denied', 'refused'].includes(resultOf(object));
}

function resultOf({ admission: { result }, refusals }: ReviewedObject): Admission['result'] | 'refused' {
  return result !== 'denied' && refusals.length > 0 ? 'refused' : result;
}

export interface Review {
  readonly reviewed: readonly ReviewedObject[];
  /** The kinds of objects that no policy selects. */
  readonly others: readonly string[];
}

/** The result of `taintkeeper review` as text. With `patched`, it includes the objects after admission. */
export function formatReview(review: Review, format: ReviewFormat, patched: boolean): string {
  switch (format) {
    case 'github':
      return asAnnotations(review.reviewed.flatMap(results));
    case 'sarif': {
      const reported = review.reviewed.flatMap(results);
      const rules = [...new Set(reported.map(({ rule }) => rule))].map((id) => ({ id, about: `what ${id} says` }));
      return asSarif('taintkeeper review', rules, reported);
    }
    default:
      return formatAs(format, { data: () => data(review, patched), table: (look) => table(review, patched, look) });
  }
}

function data({ reviewed, others }: Review, patched: boolean): object {
  return {
    reviewed: reviewed.map((each) => {
      const { place: _, admission, refusals, ...what } = each;
      const { object, ...rest } = admission;
      return {
        ...what,
        ...rest,
        result: resultOf(each),
        ...(refusals.length > 0 ? { refusals } : {}),
        ...(patched && !isRefused(each) ? { object } : {}),
      };
    }),
    others,
  };
}

const RESULT_LEVELS: Readonly<Record<ReturnType<typeof resultOf>, Level>> = {
  allowed: 'ok',
  patched: 'attention',
  denied: 'failed',
  refused: 'failed',
};

const HEADINGS = ['OBJECT', 'OPERATION', 'RESULT', 'POLICY', 'WHAT'];

function table({ reviewed, others }: Review, patched: boolean, look: Look): string {
  const rows = reviewed.flatMap((each) => {
    const { operation, admission, refusals } = each;
    const object = printable(objectTitle(each));
    const violations = admission.violations.map((one) => [one.policy, violationText(one)]);
    const decided = violations.length > 0 ? violations : annotated(admission.patch).map((what) => ['', what]);
    const findings = [...refusals.map((refusal) => ['', printable(refusalText(refusal))]), ...decided];
    const [first = ['', ''], ...rest] = findings;
    const result = { text: resultOf(each), level: RESULT_LEVELS[resultOf(each)] };
    return [[object, operation, result, ...first], ...rest.map((finding) => ['', '', '', ...finding])];
  });
  const messages = reviewed.flatMap(({ admission }) => (admission.message === undefined ? [] : [admission.message]));
  return [
    ...(rows.length > 0 ? [columns([HEADINGS, ...rows], look)] : []),
    ...messages.map((message) => `\n${message}\n`),
    ...(others.length > 0 ? [`\nnot judged: ${summary(others)}\n`] : []),
    ...(patched
      ? reviewed
          .filter((each) => !isRefused(each))
          .map(({ admission }) => `---\n${yamlText(admission.object, KUBECTL_YAML)}`)
      : []),
  ].join('');
}

/** Allowed exceptions are notes. */
function levelOf({ result }: Outcome): CiResult['level'] {
  switch (result) {
    case 'Denied':
      return 'error';
    case 'AllowedByAnnotation':
    case 'AllowedByExemption':
      return 'note';
    case 'Restored':
    case 'Added':
    case 'Audited':
    case 'Reported':
      return 'warning';
  }
}

function violationText(violation: Violation): string {
  return `${outcomeText(violation)} ${violation.subject}`;
}

function refusalText({ field, message }: Refusal): string {
  return `the API server refuses ${field}: ${message}`;
}

/** The rule of findings that no policy makes. */
const VALIDATION = 'Kubernetes validation';

function results({ place, admission, refusals, ...object }: ReviewedObject): CiResult[] {
  const refused = refusals.map(
    (refusal): CiResult => ({
      ...placeIn(refusal.place),
      level: 'error',
      rule: VALIDATION,
      subject: objectTitle(object),
      text: refusalText(refusal),
      properties: { field: refusal.field },
    }),
  );
  const decided = admission.violations.map((violation): CiResult => {
    const { policyKind, policy, field, mode, change, result, audit } = violation;
    const refusal = result === 'Denied' && !audit ? admission.message : undefined;
    return {
      ...placeIn(place),
      level: levelOf(violation),
      rule: `${policyKind} ${policy}`,
      subject: objectTitle(object),
      text: refusal ?? violationText(violation),
      properties: { field, mode, change, result, audit: String(audit) },
    };
  });
  return [...refused, ...decided];
}

/** The changes of annotations in a patch. A patch without violations has no others. */
function annotated(patch: Admission['patch']): string[] {
  return patch.flatMap((operation) => {
    const [first, second, name = ''] = pointerNames(operation.path);
    if (first !== 'metadata' || second !== 'annotations') return [];
    const value = 'value' in operation ? operation.value : undefined;
    const values = name === '' ? Object.entries(value ?? {}) : [[name, value]];
    return values.map(([key, text]) =>
      printable(text === undefined ? `unannotated ${key}` : `annotated ${key}: ${text}`),
    );
  });
}

/** `2 ConfigMap, 1 Namespace`. */
function summary(kinds: readonly string[]): string {
  const counts = [...Map.groupBy(kinds, (kind) => kind)].map(([kind, found]) => `${found.length} ${kind}`);
  return printable(counts.join(', '));
}
