import { AUDIT_NOTE } from '../policy/reporting/policy-messages.ts';
import type { PolicyCell, Section } from './display.ts';
import type { Facts } from './explained-facts.ts';
import type { PolicyProblem } from './policy-problems.ts';

/** @param unmet the requirements of a policy's selection that the object does not meet */
const selectedText = (unmet: readonly string[]) =>
  unmet.length === 0 ? 'is selected' : `is not selected: needs ${unmet.join(', ')}`;

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
