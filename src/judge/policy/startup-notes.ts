import { daemonTolerates } from '../../kubernetes/daemon-tolerations.ts';
import { formatTaint, type Taint } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { isEnforcedWithoutAudit } from '../../policy/enforcement.ts';
import { type AllDaemonSets, daemonSetName, isAmong } from '../../policy/ready-when.ts';
import { atMost } from '../../text/counts.ts';
import type { DaemonSetView } from '../daemon-set-view.ts';
import type { ComparisonBudget } from './comparison-budget.ts';

/** Effects of a policy with startup taints that its author may not expect, but that are no problems. */
export interface StartupNotes {
  /** Short texts, for warnings on apply. */
  readonly warnings: readonly string[];
  /** For the status of the policy. */
  readonly notes: readonly string[];
}

interface Surroundings {
  /** The known DaemonSets of the cluster. */
  readonly daemonSets: readonly DaemonSetView[];
  /** Whether a namespace without a DaemonSet among these certainly has none. */
  readonly isKnown: (namespace: string) => boolean;
  /** See {@link Companions}. */
  readonly companions: readonly CompiledTaintPolicy[];
  readonly budget: ComparisonBudget;
}

/** The most DaemonSets or namespaces that one text names. */
const MAX_NAMED = 3;
/** The most other taints that a DaemonSet is compared with. */
const MAX_OTHER_TAINTS = 8;

export function startupNotes(policy: CompiledTaintPolicy, surroundings: Surroundings): StartupNotes {
  if (!isEnforcedWithoutAudit(policy)) return { warnings: [], notes: [] };
  const waits = policy.untilReady.flatMap(({ field, taint, parts }) =>
    parts.allDaemonSets.map((all) => ({ all, field, taint })),
  );
  const empty = emptyNotes(waits, surroundings);
  const leftOut = leftOutNotes(policy, waits, surroundings);
  return {
    warnings: [...openWarnings(waits), ...empty, ...leftOut.map(({ warning }) => warning)],
    notes: [...empty, ...leftOut.map(({ note }) => note)],
  };
}

/** A startup taint that waits for all DaemonSets. */
interface Wait {
  readonly all: AllDaemonSets;
  readonly field: string;
  readonly taint: Taint;
}

/** The waits that any author of a DaemonSet can prolong. */
function openWarnings(waits: readonly Wait[]): string[] {
  return waits
    .filter(({ all }) => all.namespaces === undefined)
    .map(
      ({ field }) => `${field}: without namespaces, every user who may create a DaemonSet can keep new nodes tainted`,
    );
}

/** The waits with namespaces that have no DaemonSet. */
function emptyNotes(
  waits: readonly Wait[],
  { daemonSets, isKnown }: Pick<Surroundings, 'daemonSets' | 'isKnown'>,
): string[] {
  const inhabited = new Set(daemonSets.map(({ namespace }) => namespace));
  return waits.flatMap(({ all: { namespaces = [] }, field }) => {
    const names = namespaces.filter((one) => isKnown(one) && !inhabited.has(one));
    if (names.length === 0) return [];
    const have = names.length === 1 ? 'has' : 'have';
    return `${field}: ${named('namespace', names, MAX_NAMED)} ${have} no DaemonSet, so the taint waits for none there`;
  });
}

/** The DaemonSets that are not waited for, although a wait selects them: they are being deleted, or do not tolerate a startup taint. */
function leftOutNotes(
  policy: CompiledTaintPolicy,
  waits: readonly Wait[],
  { daemonSets, companions, budget }: Surroundings,
): { readonly warning: string; readonly note: string }[] {
  const startup = [policy, ...companions].flatMap(({ name, untilReady }) =>
    untilReady.map(({ taint }) => {
      const of = name === policy.name ? 'this policy' : `TaintPolicy ${name} on the same nodes`;
      return { taint, text: `taint ${formatTaint(taint)} of ${of}` };
    }),
  );
  return waits.flatMap(({ all, field, taint }) => {
    const own = { taint, text: 'the taint' };
    const taints = [own, ...startup.filter((one) => one.taint !== taint).slice(0, MAX_OTHER_TAINTS)];
    const byReason = Map.groupBy(
      daemonSets.filter((one) => isAmong(all, one)),
      (one) => (one.deleting ? 'Deleting' : taints.find((other) => isIntolerant(other.taint, one, budget))),
    );
    return [...byReason].flatMap(([reason, found]) => {
      if (reason === undefined) return [];
      const isOne = found.length === 1;
      const because =
        reason === 'Deleting'
          ? `${isOne ? 'is' : 'are'} being deleted`
          : `${isOne ? 'does' : 'do'} not tolerate ${reason.text}`;
      const names = found.map(daemonSetName).sort();
      const text = (most: number) => `${field} does not wait for ${named('DaemonSet', names, most)}, which ${because}`;
      if (reason === 'Deleting' || reason === own) return { warning: text(2), note: text(MAX_NAMED) };
      // What comes last in a warning may be cut.
      const warning = `${field}: DaemonSets that do not tolerate ${reason.text} are not waited for: ${atMost(2, names).join(', ')}`;
      return { warning, note: text(MAX_NAMED) };
    });
  });
}

/** `DaemonSets a, b`. */
function named(what: string, names: readonly string[], most: number): string {
  return `${what}${names.length === 1 ? '' : 's'} ${atMost(most, names).join(', ')}`;
}

/** Whether a DaemonSet does not tolerate a taint. False once the budget is used up. */
function isIntolerant(taint: Taint, daemonSet: DaemonSetView, budget: ComparisonBudget): boolean {
  budget.left -= 1 + daemonSet.tolerations.length;
  return budget.left >= 0 && !daemonTolerates(daemonSet, taint);
}
