import { type PolicyObject, whyUnusable } from '../cluster/policies/policy-object.ts';
import { type LabelSelector, type StringMap, selects } from '../kubernetes/label-selector.ts';
import { formatRequirement, requirementsOf } from '../kubernetes/selector-overlap.ts';
import type { ManagedFields } from '../objects/managed-fields.ts';
import { harmOfCondition, worstFirst } from '../policy/harm.ts';
import type { PolicyKind } from '../policy/policy.ts';
import { AUDIT_NOTE, type PolicyStatus } from '../policy/policy-status.ts';
import { assessCondition } from '../policy/status-conditions.ts';

/** An explanation as sections, which the command line prints and the page shows. */
export interface FormattedExplanation {
  readonly sections: readonly Section[];
  readonly next: Step;
  /** Whether nothing is missing, and no permanent taint keeps pods off. */
  readonly isOk: boolean;
}

export type Section = Table | Lines;

export interface Table {
  /** The headings of the columns, such as `Taint`. */
  readonly head: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** One sentence a line. */
export interface Lines {
  readonly lines: readonly string[];
}

export type Cell = string | StateCell | PolicyCell | NodesCell;

/** The severity of a state. `quiet`: of no concern. */
export type Level = 'failed' | 'attention' | 'ok' | 'quiet';

/** A word for the state of the row. */
export interface StateCell {
  readonly text: string;
  readonly level: Level;
}

export interface PolicyCell {
  readonly text: string;
  /** `KIND/NAME`. */
  readonly policy: string;
}

export interface NodesCell {
  readonly nodes: readonly string[];
}

/** The one thing to do next. */
export interface Step {
  /** A shell command. Absent if there is none to run. */
  readonly command?: string;
  readonly note?: string;
}

/** An Event of taintkeeper. */
export interface ToldEvent {
  /** RFC 3339, when it was last seen. */
  readonly time: string;
  readonly reason: string;
  readonly note: string;
}

/** A condition of a policy that needs attention. */
export interface PolicyProblem {
  readonly kind: PolicyKind;
  readonly policy: string;
  readonly condition: string;
  readonly reason: string;
  readonly message: string;
  /** What to do; undefined if the message says it. */
  readonly next: string | undefined;
}

/** A policy that covers a taint or a toleration, and its field. */
export interface PolicyField {
  readonly policy: string;
  readonly mode: string;
  readonly field: string;
}

/** The facts besides the explained object. The command and a replica read them differently. */
export interface Facts {
  readonly policies: readonly PolicyObject[];
  /** Whether taintkeeper runs with --audit. */
  readonly audit: boolean;
  readonly events: readonly ToldEvent[];
  /** What could not be read. */
  readonly notes: readonly string[];
}

export const namedBy = (by: readonly PolicyField[]) =>
  by.map(({ policy, mode, field }) => `${policy} (${mode}, ${field})`).join(', ');

/** @param unmet the requirements of a policy's selection that the object does not meet */
const selectedText = (unmet: readonly string[]) =>
  unmet.length === 0 ? 'is selected' : `is not selected: needs ${unmet.join(', ')}`;

/** The requirements of a selector that the labels do not meet, such as `pool=gpu`. */
export function unmetRequirements(selector: LabelSelector | undefined, labels: StringMap): string[] {
  return requirementsOf(selector)
    .filter((requirement) => !selects({ matchExpressions: [requirement] }, labels))
    .map(formatRequirement);
}

/**
 * Which policies select the object: those first, then the others.
 * @param head of the columns: the policy, its mode, whether it is selected
 * @param none in place of an empty table
 */
export function policyTable<Found extends { readonly mode: string; readonly unmet: readonly string[] }>(
  policies: readonly Found[],
  { head, none, cellOf }: { head: readonly string[]; none: string; cellOf: (policy: Found) => PolicyCell },
): Section {
  if (policies.length === 0) return { lines: [none] };
  const selectingFirst = policies.toSorted((a, b) => Number(a.unmet.length > 0) - Number(b.unmet.length > 0));
  return { head, rows: selectingFirst.map((policy) => [cellOf(policy), policy.mode, selectedText(policy.unmet)]) };
}

/** Notes on policies that the explanation leaves out, because no usable spec of them is known. */
export function notesOnUnusable(policies: readonly PolicyObject[]): string[] {
  return policies.flatMap((policy) =>
    policy.inForce ? [] : `${policy.kind} ${policy.name} is left out here: ${whyUnusable(policy)}`,
  );
}

/** The conditions that need attention, of the policies that select the object. The worst first. */
export function problemsOf(
  policies: readonly PolicyObject[],
  isSelecting: (policy: PolicyObject) => boolean,
): PolicyProblem[] {
  const found = policies.filter(isSelecting).flatMap(({ kind, name, status }) => {
    const { conditions = [] } = (status ?? {}) as PolicyStatus;
    return conditions.flatMap((condition) => {
      const { level, next } = assessCondition(condition);
      const { type, reason, message } = condition;
      const problem: PolicyProblem = { kind, policy: name, condition: type, reason, message, next };
      return level === 'quiet' ? [] : [{ problem, harm: harmOfCondition(condition) }];
    });
  });
  return worstFirst(found, ({ harm }) => harm).map(({ problem }) => problem);
}

/** `metadata.managedFields` of the object. */
export function managedFieldsOf(object: unknown): readonly ManagedFields[] {
  return (object as { metadata: { managedFields?: ManagedFields[] } }).metadata.managedFields ?? [];
}

/** The last sections of each explanation. */
export function closing({
  audit,
  problems,
  events,
  notes,
}: Omit<Facts, 'policies'> & { readonly problems: readonly PolicyProblem[] }): Section[] {
  const lines = [...(audit ? [AUDIT_NOTE] : []), ...notes];
  return [
    {
      lines: problems.flatMap(({ kind, policy, condition, reason, message, next }) => [
        `${kind} ${policy}, condition ${condition} (${reason}): ${message}`,
        ...(next === undefined ? [] : [`  to do: ${next}`]),
      ]),
    },
    { head: ['Last seen', 'Event', 'Note'], rows: events.map(({ time, reason, note }) => [time, reason, note]) },
    { lines: lines.map((note) => `note: ${note}`) },
  ];
}

/** Leaves out empty sections. */
export function filled(sections: readonly Section[]): Section[] {
  return sections.filter((section) => ('lines' in section ? section.lines : section.rows).length > 0);
}
