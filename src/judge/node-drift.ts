import { identity, type Taint, valuesOf, withTaints } from '../kubernetes/taint.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { isProtectedBy, policiesFor, selectingPolicies } from '../policy/policy-index.ts';
import { type CompiledTaintPolicy, ONCE_ESTABLISHED } from '../policy/policy-set.ts';
import type { TaintMode } from '../policy/taint-policy.ts';
import {
  type AllowedRemoval,
  namesAny,
  parseAllowedRemovals,
  readsAllowRemoval,
  rewriteAllowRemoval,
} from './allow-removal.ts';
import { type DeclaredTaint, missingRequired } from './declared-taints.ts';
import { type BlockedBy, isRemoved, lostTaints, type RecordedTaint } from './node-record.ts';
import type { DesiredNode, NodeWithRecord } from './node-view.ts';
import { isEnforcing } from './rulings.ts';

/** A taint that a node should carry and does not, by one policy. */
export interface Loss {
  readonly policy: CompiledTaintPolicy;
  /** The field of the policy that says so, for example `spec.taints[0]`. */
  readonly field: string;
  readonly taint: Taint;
  /** Undefined when {@link NodeDrift.desired} has it. */
  readonly blockedBy: BlockedBy | undefined;
}

/** A required taint that a node does without, because it was removed with permission. */
export type Removal = Omit<Loss, 'blockedBy'>;

/** How a node differs from what the policies declare, whichever writer caused it. */
export interface NodeDrift {
  readonly losses: readonly Loss[];
  /** Not among the losses: the node does without these until a user sets them. */
  readonly removed: readonly Removal[];
  /** The entries of an annotation `allow-removal` that is removed because it is too old. */
  readonly expired: readonly string[];
  /** The node as it should be made, with the very list of taints that it has where that is right; undefined when there is nothing to do. */
  readonly desired: DesiredNode | undefined;
}

/** What is known besides the node and the policies. */
export interface Circumstances {
  /** Whether another writer removes the taint repeatedly, so that it is not restored; by default, no writer does. */
  readonly isInConflict?: (taint: Taint) => boolean;
  /** Whether the allow-removal annotation is older than {@link ALLOW_REMOVAL_LIFE_MS}; by default, it is not. */
  readonly isAllowRemovalExpired?: boolean;
  /** Whether the record as it is given has been written: only then are entries of the annotation deleted that have been used. */
  readonly isRecordWritten?: boolean;
}

/** A taint that one policy misses on the node: a required one, or a recorded one that it protects. */
interface MissingTaint {
  readonly policy: CompiledTaintPolicy;
  readonly field: string;
  readonly taint: Taint;
  readonly anyValue: boolean;
  /** Whether the policy declares the taint: otherwise it protects what the node is recorded to have carried. */
  readonly isDeclared: boolean;
  /** Whether the policy requires the taint, with this value or another one. */
  readonly isRequired: boolean;
}

/**
 * Whether the leader restores a missing taint for a policy of the mode. A mode says what happens to requests: what a policy requires, the
 * leader sets in mode Deny as well.
 */
export function isRestoredBy(mode: TaintMode, isRequired: boolean): boolean {
  return mode === 'Restore' || (mode === 'Deny' && isRequired);
}

/**
 * Compares a node with the policies: required taints that it lacks, and protected taints that its record lists and that it has lost. Neither
 * counts if it was removed with permission. A transient taint does not count either: every user may remove it from a running node.
 *
 * @param node with what the record of this very Node lists. The Node itself proves nothing: users who may patch nodes write it.
 * @param policies the strongest mode first, as a PolicySet has them
 */
export function nodeDrift(
  node: NodeWithRecord,
  policies: readonly CompiledTaintPolicy[],
  { isInConflict = () => false, isAllowRemovalExpired = false, isRecordWritten = false }: Circumstances = {},
): NodeDrift {
  const selecting = selectingPolicies(policies, node.labels);
  const carried = valuesOf(node.taints);
  // With --audit, policies report what they would restore without it.
  const isEnforceable = (taint: RecordedTaint) =>
    policiesFor(selecting, taint.key).some(
      ({ declared, deletedNodeRetentionMs, removalRestrictedBy }) =>
        (declared !== 'Audit' || (taint.earlierDeletedAt !== undefined && deletedNodeRetentionMs !== undefined)) &&
        removalRestrictedBy(taint, ONCE_ESTABLISHED) !== undefined,
    );
  const lost = lostTaints(node.recorded, node.taints)
    .filter((taint) => !isTransientTaintKey(taint.key) && isEnforceable(taint))
    .map(taintOf);
  const { removed = [], missing = [] } = Object.groupBy(
    missingRequired(node, selecting).filter(({ taint }) => !isTransientTaintKey(taint.key)),
    (one) => (isRemoved(node.recorded, one) ? 'removed' : 'missing'),
  );
  const groups = [...Map.groupBy(missingByPolicy(missing, lost, selecting), ({ taint }) => identity(taint)).values()];
  const judged = groups.map((group) => {
    const target = targetOf(group);
    return { group, target, blockedBy: whatBlocks(group, target) };
  });
  const repaired = judged.filter(({ blockedBy }) => blockedBy === undefined).map(({ target }) => target);
  const taints = repaired.length === 0 ? node.taints : withTaints(node.taints, repaired);
  const allowed = parseAllowedRemovals(node.allowRemoval);
  const used =
    isRecordWritten && policies.some(readsAllowRemoval)
      ? allowed.entries.filter(usedEntries(carried, lost, missing))
      : [];
  // An entry that names a restored taint has not allowed its removal: otherwise the record would say so. Admission cannot know that. It would
  // judge the restoration as an addition, so the taint is restored after the entry is removed.
  // An entry for another value counts as well: for admission, it allows the removal of a taint that is required with any value.
  // An entry that cannot be read here may be readable in CEL.
  const restored = new Set(repaired.map(identity));
  const invalidated =
    repaired.length === 0
      ? []
      : allowed.entries.filter(({ taint }) => taint === undefined || restored.has(identity(taint)));
  const finished = new Set([...used, ...invalidated]);
  const unspent =
    finished.size === 0 ? node.allowRemoval : rewriteAllowRemoval(allowed, (entry) => finished.has(entry));
  const isExpired = isAllowRemovalExpired && selecting.some(readsAllowRemoval);
  const desired: DesiredNode = {
    taints: invalidated.length > 0 ? node.taints : taints,
    allowRemoval: isExpired ? undefined : unspent,
  };
  const changes = desired.taints !== node.taints || desired.allowRemoval !== node.allowRemoval;
  return {
    losses: judged.flatMap(({ group, target, blockedBy }) => lossesOf(group, target, blockedBy)),
    removed,
    expired: isExpired ? parseAllowedRemovals(unspent).entries.map(({ text }) => text) : [],
    desired: changes ? desired : undefined,
  };

  function whatBlocks(group: readonly MissingTaint[], target: Taint): BlockedBy | undefined {
    const restoring = group.filter(({ policy, isRequired }) => isRestoredBy(policy.mode, isRequired));
    if (restoring.length === 0) return 'ModeDoesNotRestore';
    if (isInConflict(target)) return 'Conflict';
    const present = carried.get(identity(target));
    // Admission denies the change of a protected value to every writer, taintkeeper included.
    if (present !== undefined && isProtectedBy(selecting, { ...target, value: present }, node.established))
      return 'OtherValuePresent';
    return target.effect === 'NoExecute' ? 'WouldEvictPods' : undefined;
  }
}

/** A recorded taint as Nodes have taints. */
function taintOf({ key, value, effect }: RecordedTaint): Taint {
  return value === '' ? { key, effect } : { key, value, effect };
}

/**
 * What each policy misses, every taint once: with the value that it declares, else with the recorded one, else with none.
 * @param missing the required taints
 * @param lost the recorded taints
 */
function missingByPolicy(
  missing: readonly DeclaredTaint[],
  lost: readonly Taint[],
  policies: readonly CompiledTaintPolicy[],
): MissingTaint[] {
  const byPolicy = Map.groupBy(missing, ({ policy }) => policy);
  const affected = lost.length > 0 ? policies : policies.filter((policy) => byPolicy.has(policy));
  return affected.flatMap((policy) => {
    const required = (byPolicy.get(policy) ?? []).map((one) => ({ ...one, isDeclared: true, isRequired: true }));
    const recorded = lost.flatMap((taint) => {
      const field = policy.removalRestrictedBy(taint, ONCE_ESTABLISHED);
      return field === undefined
        ? []
        : [{ policy, field, taint, anyValue: false, isDeclared: false, isRequired: false }];
    });
    const all = [...required.filter(({ anyValue }) => !anyValue), ...recorded, ...required];
    return [...Map.groupBy(all, ({ taint }) => identity(taint)).values()].flatMap((group) =>
      group.slice(0, 1).map((first) => ({
        ...first,
        isRequired: group.some(({ isRequired }) => isRequired),
      })),
    );
  });
}

/** The taint with the value to set: that of the first policy that is not in mode Audit and names one. */
function targetOf(group: readonly MissingTaint[]): Taint {
  const binding = group.filter(isEnforcing);
  const [first] = [...binding.filter(({ anyValue }) => !anyValue), ...binding, ...group];
  if (first === undefined) throw new Error('a group without a missing taint');
  return first.taint;
}

/** The losses to report for one taint that policies miss. If nothing blocks it, the node gets the taint with the value of the target. */
function lossesOf(group: readonly MissingTaint[], target: Taint, blockedBy: BlockedBy | undefined): Loss[] {
  if (blockedBy !== undefined) return group.map(({ policy, field, taint }) => ({ policy, field, taint, blockedBy }));
  const isRestored = ({ taint, anyValue }: MissingTaint) => anyValue || (taint.value ?? '') === (target.value ?? '');
  const stillMissing = group.filter((one) => one.isDeclared && !isRestored(one));
  const left = stillMissing.some(isEnforcing) ? 'OtherValuePresent' : 'ModeDoesNotRestore';
  return group.flatMap((one): Loss[] => {
    const { policy, field, taint } = one;
    if (stillMissing.includes(one)) return [{ policy, field, taint, blockedBy: left }];
    // A recorded value may have given way to one that its policy does not mean.
    return policy.removalRestrictedBy(target, ONCE_ESTABLISHED) === undefined
      ? []
      : [{ policy, field, taint: target, blockedBy }];
  });
}

/**
 * Whether an entry of the annotation has been used: the node does not carry the taint that it names, and is not to carry it. It is of no
 * use any more, also where the node has left the policy in the update that removed the taint.
 */
function usedEntries(
  carried: ReadonlyMap<string, string>,
  lost: readonly Taint[],
  missing: readonly DeclaredTaint[],
): (entry: AllowedRemoval) => boolean {
  const lostValues = valuesOf(lost);
  const missingIdentities = new Set(missing.map(({ taint }) => identity(taint)));
  return (entry) =>
    entry.taint !== undefined &&
    // A notice of a taint that the node carries says nothing any more.
    (entry.isNotice || !namesAny(entry, carried)) &&
    !namesAny(entry, lostValues) &&
    !missingIdentities.has(identity(entry.taint));
}
