import { daemonTolerations } from '../../kubernetes/daemon-tolerations.ts';
import { formatTaint, REPELLING_EFFECTS, type Taint } from '../../kubernetes/taint.ts';
import { mayTolerate, type Toleration, tolerates } from '../../kubernetes/toleration.ts';
import type { CompiledTaintPolicy, EnsuredTaint } from '../../policy/compiled-taint-policy.ts';
import { isEnforcedWithoutAudit } from '../../policy/enforcement.ts';
import { daemonSetName, isAmong, type ReadyDaemonSet } from '../../policy/ready-when.ts';
import { atMost } from '../../text/counts.ts';
import { type DaemonSetView, hasTooManyTolerations } from '../daemon-set-view.ts';

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
}

/** The most DaemonSets or namespaces that one text names. */
const MAX_NAMED = 3;
/** The most other taints that a DaemonSet is compared with. */
const MAX_OTHER_TAINTS = 8;
/** The most required taints that a DaemonSet is compared with. */
const MAX_REQUIRED = 32;
/** The most comparisons of a taint with a toleration, for one policy. It suffices for 500 DaemonSets with 25 tolerations, and 32 taints. */
const MAX_COMPARED = 400_000;

export function startupNotes(
  policy: CompiledTaintPolicy,
  { daemonSets, isKnown, companions }: Surroundings,
): StartupNotes {
  if (!isEnforcedWithoutAudit(policy)) return { warnings: [], notes: [] };
  const waits = policy.untilReady.flatMap(({ field, taint, parts }) =>
    parts.allDaemonSets.map((all) => ({ all, field, taint })),
  );
  const open = waits
    .filter(({ all }) => all.namespaces === undefined)
    .map(
      ({ field }) => `${field}: without namespaces, every user who may create a DaemonSet can keep new nodes tainted`,
    );
  const inhabited = new Set(daemonSets.map(({ namespace }) => namespace));
  const empty = waits.flatMap(({ all: { namespaces = [] }, field }) => {
    const names = namespaces.filter((one) => isKnown(one) && !inhabited.has(one));
    if (names.length === 0) return [];
    const have = names.length === 1 ? 'has' : 'have';
    return `${field}: ${named('namespace', names, MAX_NAMED)} ${have} no DaemonSet, so the taint waits for none there`;
  });
  const startup = [policy, ...companions].flatMap(({ name, untilReady }) =>
    untilReady.map(({ taint }) => {
      const of = name === policy.name ? 'this policy' : `TaintPolicy ${name} on the same nodes`;
      return { taint, text: `taint ${formatTaint(taint)} of ${of}` };
    }),
  );
  const keepsOff = limitedComparison();
  const leftOut = waits.flatMap(({ all, field, taint }) => {
    const own = { taint, text: 'the taint' };
    const taints = [own, ...startup.filter((one) => one.taint !== taint).slice(0, MAX_OTHER_TAINTS)];
    const byReason = Map.groupBy(
      daemonSets.filter((one) => isAmong(all, one)),
      (one) => (one.deleting ? 'Deleting' : taints.find((other) => keepsOff(other.taint, one))),
    );
    return [...byReason].flatMap(([reason, found]) => {
      if (reason === undefined) return [];
      const [are, do_] = found.length === 1 ? ['is', 'does'] : ['are', 'do'];
      const because = reason === 'Deleting' ? `${are} being deleted` : `${do_} not tolerate ${reason.text}`;
      const names = found.map(daemonSetName).sort();
      const text = (most: number) => `${field} does not wait for ${named('DaemonSet', names, most)}, which ${because}`;
      return { warning: text(2), note: text(MAX_NAMED) };
    });
  });
  return {
    warnings: [...open, ...empty, ...leftOut.map(({ warning }) => warning)],
    notes: [...empty, ...leftOut.map(({ note }) => note)],
  };
}

/** `DaemonSets a, b`. */
function named(what: string, names: readonly string[], most: number): string {
  return `${what}${names.length === 1 ? '' : 's'} ${atMost(most, names).join(', ')}`;
}

/** Whether a DaemonSet does not tolerate a taint. False after {@link MAX_COMPARED} comparisons: every pod can send reviews of policies. */
function limitedComparison(): (taint: Taint, daemonSet: DaemonSetView) => boolean {
  let left = MAX_COMPARED;
  return (taint, { tolerations, hostNetwork }) => {
    left -= 1 + tolerations.length;
    return left >= 0 && !daemonTolerations(tolerations, hostNetwork).some((one) => tolerates(one, taint));
  };
}

/**
 * Warnings on apply of a policy about DaemonSets of `readyWhen.daemonSets` that do not tolerate a required taint of nodes of the policy: they never run there.
 * Later nodes may get the taint only after their startup, so this is no problem of the policy.
 * @param daemonSetOf undefined for one that does not exist or is not read
 */
export function requiredTaintWarnings(
  policy: CompiledTaintPolicy,
  companions: readonly CompiledTaintPolicy[],
  daemonSetOf: (one: ReadyDaemonSet) => DaemonSetView | undefined,
): string[] {
  const required = [policy, ...companions]
    .flatMap((of) => of.required.map((one) => ({ ...one, of: of.name })))
    .filter(({ taint }) => REPELLING_EFFECTS.some((effect) => effect === taint.effect))
    .slice(0, MAX_REQUIRED);
  const awaited = policy.untilReady.flatMap(({ parts }) => parts.daemonSets);
  const daemonSets = new Set(awaited.flatMap((one) => daemonSetOf(one) ?? []));
  return Array.from(daemonSets).flatMap((daemonSet) => {
    if (hasTooManyTolerations(daemonSet)) return [];
    const tolerations = daemonTolerations(daemonSet.tolerations, daemonSet.hostNetwork);
    const by = required.find((one) => !tolerations.some((toleration) => mayTolerateOnNode(toleration, one)));
    if (!by) return [];
    const name = `DaemonSet ${daemonSetName(daemonSet)}`;
    return by.of === policy.name
      ? `${name} does not tolerate taint ${formatTaint(by.taint)} of this policy`
      : `TaintPolicy ${by.of} also selects nodes of this policy, and ${name} does not tolerate ${formatTaint(by.taint)}`;
  });
}

/** Whether a node may have a value of the taint that is tolerated. */
function mayTolerateOnNode(toleration: Toleration, { taint, anyValue }: EnsuredTaint): boolean {
  return mayTolerate(anyValue && toleration.key ? { ...toleration, operator: 'Exists' } : toleration, taint);
}
