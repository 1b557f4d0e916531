import { stringify } from 'yaml';
import type { Admission } from '../admission/admit.ts';
import { KUBECTL_YAML } from '../files/documents.ts';
import { printable } from '../kubernetes/text.ts';
import type { OutputFormat } from './options.ts';
import { columns, formatAs } from './output.ts';

/** One object of the input, and what became of it. */
export interface ReviewedObject {
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly operation: string;
  readonly admission: Admission;
}

export interface Review {
  readonly reviewed: readonly ReviewedObject[];
  /** The kinds of objects that no policy is about. */
  readonly others: readonly string[];
}

/** The result of `taintkeeper review` as text. With `patched`, the objects that come out of admission are part of it. */
export function formatReview(review: Review, format: OutputFormat, patched: boolean): string {
  return formatAs(format, { data: () => data(review, patched), table: () => table(review, patched) });
}

function data({ reviewed, others }: Review, patched: boolean): object {
  return {
    reviewed: reviewed.map(({ admission: { object, ...admission }, ...what }) => ({
      ...what,
      ...admission,
      ...(patched && isAdmitted(admission) ? { object } : {}),
    })),
    others,
  };
}

const HEADINGS = ['OBJECT', 'OPERATION', 'VERDICT', 'POLICY', 'WHAT'];

function table({ reviewed, others }: Review, patched: boolean): string {
  const rows = reviewed.flatMap(({ resource, namespace, name, operation, admission }) => {
    const object = printable([resource, namespace, name].filter((part) => part !== undefined).join('/'));
    const found = admission.violations.map(({ policy, outcome, subject }) => [policy, `${outcome} ${subject}`]);
    const findings = found.length > 0 ? found : annotated(admission.patch).map((what) => ['', what]);
    const [first = ['', ''], ...rest] = findings;
    return [[object, operation, admission.verdict, ...first], ...rest.map((finding) => ['', '', '', ...finding])];
  });
  const messages = reviewed.flatMap(({ admission }) => (admission.message === undefined ? [] : [admission.message]));
  return [
    ...(rows.length > 0 ? [columns([HEADINGS, ...rows])] : []),
    ...messages.map((message) => `\n${message}\n`),
    ...(others.length > 0 ? [`\nnot judged: ${summary(others)}\n`] : []),
    ...(patched
      ? reviewed
          .filter(({ admission }) => isAdmitted(admission))
          .map(({ admission }) => `---\n${stringify(admission.object, { lineWidth: 0, ...KUBECTL_YAML })}`)
      : []),
  ].join('');
}

function isAdmitted({ verdict }: Pick<Admission, 'verdict'>): boolean {
  return verdict !== 'denied';
}

const ANNOTATIONS = '/metadata/annotations';

/** What a patch does to annotations: all that it may do where no policy finds fault, such as remembering taints. */
function annotated(patch: Admission['patch']): string[] {
  return patch.flatMap((operation) => {
    const { path } = operation;
    if (path !== ANNOTATIONS && !path.startsWith(`${ANNOTATIONS}/`)) return [];
    const value = 'value' in operation ? operation.value : undefined;
    const name = path
      .slice(ANNOTATIONS.length + 1)
      .replaceAll('~1', '/')
      .replaceAll('~0', '~');
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
