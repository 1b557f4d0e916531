import { type PolicyObject, whyUnusable } from '../cluster/policies.ts';
import type { ManagedFields } from '../objects/managed-fields.ts';
import type { PolicyKind } from '../policy/policy.ts';
import type { PolicyStatus } from '../policy/policy-status.ts';
import { assessCondition } from '../policy/status-conditions.ts';

/** An explanation in words, for whoever shows it: the command line as text, the page as tables. */
export interface Explanation {
  readonly sections: readonly Section[];
  readonly next: Step;
  /** Whether nothing is missing, and no taint that stays keeps pods off. */
  readonly isWell: boolean;
}

export type Section = Table | Lines;

export interface Table {
  /** Of the columns, such as `Taint`. */
  readonly head: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** Sentences, each for itself. */
export interface Lines {
  readonly lines: readonly string[];
}

export type Cell = string | StateCell | PolicyCell | NodesCell;

/** How much somebody has to look at it; `quiet` for what is of no concern. */
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
  /** For a shell; absent where nothing is to be run. */
  readonly command?: string;
  readonly note?: string;
}

/** An Event of taintkeeper's. */
export interface ToldEvent {
  /** RFC 3339, when it was last seen. */
  readonly time: string;
  readonly reason: string;
  readonly note: string;
}

/** A condition of a policy that is not as it should be. */
export interface PolicyProblem {
  readonly kind: PolicyKind;
  readonly policy: string;
  readonly condition: string;
  readonly reason: string;
  readonly message: string;
}

/** A policy that has a say in a taint or a toleration, and the field that says so. */
export interface Say {
  readonly policy: string;
  readonly mode: string;
  readonly field: string;
}

/** What is known besides the object that is explained; a person's command and a replica find it out each in their own way. */
export interface Facts {
  readonly policies: readonly PolicyObject[];
  /** Whether taintkeeper runs with --audit. */
  readonly audit: boolean;
  readonly events: readonly ToldEvent[];
  /** What could not be read. */
  readonly notes: readonly string[];
}

export const namedBy = (by: readonly Say[]) =>
  by.map(({ policy, mode, field }) => `${policy} (${mode}, ${field})`).join(', ');

/** @param unmet what of the selection of a policy the object does not meet */
export const selectedText = (unmet: readonly string[]) =>
  unmet.length === 0 ? 'is selected' : `is not selected: needs ${unmet.join(', ')}`;

/** The policies that select the object before those that do not. */
export function selectingFirst<Found extends { readonly unmet: readonly string[] }>(
  policies: readonly Found[],
): Found[] {
  return policies.toSorted((a, b) => Number(a.unmet.length > 0) - Number(b.unmet.length > 0));
}

/** What an explanation leaves out: policies of which nothing usable is known. */
export function notesOnUnusable(policies: readonly PolicyObject[]): string[] {
  return policies.flatMap((policy) =>
    policy.inForce ? [] : `${policy.kind} ${policy.name} is left out here: ${whyUnusable(policy)}`,
  );
}

/** What of the policies that select the object is not as it should be, by their own status. */
export function problemsOf(
  policies: readonly PolicyObject[],
  isSelecting: (policy: PolicyObject) => boolean,
): PolicyProblem[] {
  return policies.filter(isSelecting).flatMap(({ kind, name, status }) => {
    const { conditions = [] } = (status ?? {}) as PolicyStatus;
    return conditions
      .filter((condition) => assessCondition(condition).level !== 'quiet')
      .map(({ type, reason, message }) => ({ kind, policy: name, condition: type, reason, message }));
  });
}

/** The field managers that the API server has recorded for the object. */
export function managedFieldsOf(object: unknown): readonly ManagedFields[] {
  return (object as { metadata: { managedFields?: ManagedFields[] } }).metadata.managedFields ?? [];
}

/** What explanations of all kinds end with. */
export function closing({
  audit,
  problems,
  events,
  notes,
}: Omit<Facts, 'policies'> & { readonly problems: readonly PolicyProblem[] }): Section[] {
  const told = [
    ...(audit ? ['taintkeeper runs with --audit: it reports, and changes and refuses nothing'] : []),
    ...notes,
  ];
  return [
    {
      lines: problems.map(
        ({ kind, policy, condition, reason, message }) =>
          `${kind} ${policy}, condition ${condition} (${reason}): ${message}`,
      ),
    },
    { head: ['Last seen', 'Event', 'Note'], rows: events.map(({ time, reason, note }) => [time, reason, note]) },
    { lines: told.map((note) => `note: ${note}`) },
  ];
}

/** Without sections that have nothing in them. */
export function filled(sections: readonly Section[]): Section[] {
  return sections.filter((section) => ('lines' in section ? section.lines : section.rows).length > 0);
}
