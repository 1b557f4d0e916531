import { type PolicyObject, whyUnusable } from '../cluster/policies/policy-object.ts';
import { type LabelSelector, type StringMap, selects } from '../kubernetes/label-selector.ts';
import { formatRequirement, requirementsOf } from '../kubernetes/selector-overlap.ts';
import type { ManagedFields } from '../objects/managed-fields.ts';
import { AUDIT_NOTE } from '../policy/reporting/policy-messages.ts';
import type { PolicyCell, Section } from './display.ts';
import type { Facts } from './explained-facts.ts';
import type { PolicyProblem } from './policy-problems.ts';

/** A policy that covers a taint or a toleration, and its field. */
export interface PolicyField {
  readonly policy: string;
  readonly mode: string;
  readonly field: string;
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
