import { droppedTaints, identity, type Taint, valuesOf, withTaints } from '../kubernetes/taint.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { policiesFor, selectingPolicies } from '../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { TaintMode } from '../policy/taint-policy.ts';
import {
  type Forgetting,
  holdAmong,
  type IdleMemory,
  MAX_REMEMBERED,
  parseRemembered,
  readsRecords,
  remember,
} from './memory.ts';
import { type DesiredNode, type NodeView, type RestoredNatively, restoredNatively } from './node-view.ts';
import {
  consumeAllowedRemovals,
  type DeclaredTaint,
  isRemovalAllowed,
  isRequiredTaint,
  parseAllowedRemovals,
  parseRemoved,
  recordRemovals,
  requiredTaints,
  roomBeside,
  satisfies,
  wasRemoved,
} from './removal.ts';

/** Why a taint that a node should carry is not put back. */
export type Hindrance =
  /** No policy restores it: see {@link isRestoredBy}. */
  | 'mode'
  /** It would evict pods, and no policy that requires it has `mayEvict`. */
  | 'eviction'
  /** The node carries it with another value, which is protected as well. */
  | 'held'
  /** Somebody takes it away again and again. */
  | 'contested'
  /** It evicts pods, and it is not the node's turn. */
  | 'paced';

/** A taint that a node should carry and does not, by one policy. */
export interface Loss {
  readonly policy: CompiledTaintPolicy;
  /** The field of the policy that says so, for example `spec.taints[0]`. */
  readonly field: string;
  readonly taint: Taint;
  /** Undefined when {@link NodeDrift.desired} has it. */
  readonly hindrance: Hindrance | undefined;
}

/** A required taint that a node does without, because somebody removed it whom the policy exempts. */
export type Removal = Omit<Loss, 'hindrance'>;

/** How a node differs from what the policies declare, as it is, whoever made it so. */
export interface NodeDrift {
  readonly losses: readonly Loss[];
  /** No losses: these stay off until somebody sets them. */
  readonly removed: readonly Removal[];
  /** Taints that are gone with leave, and are not to be remembered any more. */
  readonly released: readonly Taint[];
  /** What is left of a allow-removal annotation that has stood for too long, and is taken away. */
  readonly expired: readonly string[];
  /** What the node remembers for nobody: see {@link Forgetting}. */
  readonly idle: readonly IdleMemory[];
  /** What native policies put back while nobody was asked, and is to be recorded. */
  readonly natively: readonly RestoredNatively[];
  /** The node as it should be made, with the very list of taints that it has where that is right; undefined when there is nothing to do. */
  readonly desired: DesiredNode | undefined;
}

/** What is known besides the node and the policies. */
export interface Circumstances {
  /** Whether to leave a taint to whoever takes it away; by default, to nobody. */
  readonly isContested?: (taint: Taint) => boolean;
  /** Whether a taint that evicts pods may be put there now, as it may by default. */
  readonly hasTurn?: boolean;
  /** Whether the allow-removal annotation has stood for {@link ALLOW_REMOVAL_LIFE_MS}; by default, it has not. */
  readonly isAllowRemovalExpired?: boolean;
  /** By default a taint is forgotten as soon as it is gone and nobody wants it. */
  readonly forgetting?: Forgetting;
  /**
   * Whether the NodeTaintRecord lists the taint; undefined while the records have not been read. The annotation alone proves nothing:
   * users who may patch nodes can write it.
   */
  readonly isRecorded: (taint: Taint) => boolean | undefined;
}

const AT_ONCE: Forgetting = { isComplete: true, isOver: ({ isCarried }) => !isCarried };

interface Claim {
  readonly policy: CompiledTaintPolicy;
  readonly field: string;
  readonly taint: Taint;
  readonly anyValue: boolean;
  readonly mayEvict: boolean;
  /** Whether the policy declares the taint: otherwise it protects what the node is remembered to have carried. */
  readonly present: boolean;
  /** Whether the policy requires the taint, with this value or another one. */
  readonly required: boolean;
}

/**
 * Whether the leader restores a missing taint for a policy of the mode. A mode says what happens to requests: what a policy requires, the
 * leader sets in mode Deny as well.
 */
export function isRestoredBy(mode: TaintMode, isRequired: boolean): boolean {
  return mode === 'Restore' || (mode === 'Deny' && isRequired);
}

/**
 * Compares a node with the policies: required taints that it lacks, and protected taints that it was remembered to carry and
 * that went missing while nobody was asked. One that a allow-removal annotation names has gone with leave, and is forgotten. So is
 * one that comes and goes by itself, which is not missed either: whoever removed it from a node that runs may not do so again.
 * Nor is a required taint missed that somebody removed whom the policy exempts, as is recorded on the node.
 *
 * A taint that goes while no policy binds it is forgotten soon, or it would come back by surprise with the next policy. One
 * that the node still carries stays remembered while a policy has it, also in mode Audit, and for a while longer: modes change
 * back and forth, and policies are replaced, and each time all nodes would be written twice.
 *
 * @param policies the strongest mode first, as a PolicySet has them
 */
export function nodeDrift(
  node: NodeView,
  policies: readonly CompiledTaintPolicy[],
  {
    isContested = () => false,
    hasTurn = true,
    isAllowRemovalExpired = false,
    forgetting = AT_ONCE,
    isRecorded,
  }: Circumstances,
): NodeDrift {
  const { isComplete, isOver } = forgetting;
  const selecting = selectingPolicies(policies, node.labels);
  const protects = holdAmong(selecting, () => true);
  const carried = valuesOf(node.taints);
  const allowed = parseAllowedRemovals(node.allowRemoval);
  const remembers = parseRemembered(node.remembered);
  // With --audit, policies report what they would restore without it.
  const isEnforceable = (taint: Taint) =>
    policiesFor(selecting, taint.key).some(
      ({ declared, protectedBy }) => declared !== 'Audit' && protectedBy(taint) !== undefined,
    );
  const memory = remembers.filter(isEnforceable).slice(0, MAX_REMEMBERED);
  const isWatched = (taint: Taint) =>
    policiesFor(selecting, taint.key).some((policy) => policy.protectedBy(taint) !== undefined);
  const idle = (isComplete ? remembers.filter((taint) => !protects(taint)) : [])
    .map((taint) => ({ taint, isCarried: carried.get(identity(taint)) === (taint.value ?? '') }))
    .filter((one) => !one.isCarried || !isWatched(one.taint));
  const over = new Set(idle.filter(isOver).map(({ taint }) => identity(taint)));
  const gone = droppedTaints(memory, node.taints);
  const transient = gone.filter(({ key }) => isTransientTaintKey(key));
  const released = gone.filter(
    (taint) => isRemovalAllowed(allowed, taint) && isRemovableByAnnotation(taint, selecting),
  );
  const removals = parseRemoved(node.removed);
  const wants = requiredTaints(node.labels, selecting).filter(({ taint }) => !isTransientTaintKey(taint.key));
  const isRequired = (taint: Taint) => wants.some((want) => isRequiredTaint(taint, { ...want, anyValue: false }));
  const unproven = gone.filter((taint) => isRecorded(taint) === false && !isRequired(taint));
  const lost = gone.filter(
    (taint) =>
      !transient.includes(taint) && !released.includes(taint) && (isRecorded(taint) === true || isRequired(taint)),
  );
  const excused = wants.filter((want) => wasRemoved(removals, want));
  const wanted = excused.length === 0 ? wants : wants.filter((want) => !excused.includes(want));
  const groups = [...Map.groupBy(claims(wanted, carried, lost, selecting), ({ taint }) => identity(taint)).values()];
  const judged = groups.map((group) => {
    const target = targetOf(group);
    return { group, target, hindrance: hindranceOf(group, target) };
  });
  const repaired = judged.filter(({ hindrance }) => hindrance === undefined).map(({ target }) => target);
  const taints = repaired.length === 0 ? node.taints : withTaints(node.taints, repaired);
  const known = valuesOf([...memory, ...repaired]);
  const isAsRemembered = (taint: Taint) => known.get(identity(taint)) === (taint.value ?? '');
  const removed = recordRemovals({
    before: node.removed,
    carried: taints,
    labels: node.labels,
    policies: selecting,
    room: node.room,
  });
  const unspent = released.length === 0 ? node.allowRemoval : consumeAllowedRemovals(allowed, released);
  // Policies that only report have no say in the annotation.
  const isExpired = isAllowRemovalExpired && unspent !== undefined && selecting.some(readsRecords);
  const desired: DesiredNode = {
    taints,
    removed,
    allowRemoval: isExpired ? undefined : unspent,
    restored: undefined,
    remembered: remember({
      before: node.remembered,
      carried: taints,
      forgotten: [...transient, ...released, ...unproven, ...repaired],
      protects,
      keeps: (taint) => !over.has(identity(taint)),
      settles: holdAmong(selecting, (taint) => isRecorded(taint) === true || isAsRemembered(taint)),
      room: roomBeside(removed, node.room),
    }),
  };
  const changes =
    taints !== node.taints ||
    desired.allowRemoval !== node.allowRemoval ||
    desired.remembered !== node.remembered ||
    desired.removed !== node.removed ||
    desired.restored !== node.restored;
  return {
    losses: judged.flatMap(({ group, target, hindrance }) => lossesOf(group, target, hindrance)),
    removed: excused.filter((want) => !satisfies(valuesOf(taints), want)),
    released,
    expired: isExpired ? parseAllowedRemovals(unspent).entries.map(({ text }) => text) : [],
    idle,
    natively: restoredNatively(node.restored, policies),
    desired: changes ? desired : undefined,
  };

  function hindranceOf(group: readonly Claim[], target: Taint): Hindrance | undefined {
    const restoring = group.filter(({ policy, required }) => isRestoredBy(policy.mode, required));
    if (restoring.length === 0) return 'mode';
    if (isContested(target)) return 'contested';
    const present = carried.get(identity(target));
    // Admission lets nobody replace a protected value: not us either. A kubelet can write what its node remembers.
    if (present !== undefined && protects({ ...target, value: present })) return 'held';
    if (target.effect !== 'NoExecute') return undefined;
    // That the node is recorded to have carried it is not enough: whoever can forge the record would have pods evicted.
    if (!restoring.some(({ mayEvict }) => mayEvict)) return 'eviction';
    return hasTurn ? undefined : 'paced';
  }
}

/** What each policy misses, every taint once: with the value that it declares, else with the remembered one, else with none. */
function claims(
  wants: readonly DeclaredTaint[],
  carried: ReadonlyMap<string, string>,
  lost: readonly Taint[],
  policies: readonly CompiledTaintPolicy[],
): Claim[] {
  const unmet = Map.groupBy(
    wants.filter((want) => !satisfies(carried, want)),
    ({ policy }) => policy,
  );
  const claiming = lost.length > 0 ? policies : policies.filter((policy) => unmet.has(policy));
  return claiming.flatMap((policy) => {
    const present = (unmet.get(policy) ?? []).map((want) => ({ ...want, present: true, required: true }));
    const preserved = lost.flatMap((taint) => {
      const field = policy.protectedBy(taint);
      return field === undefined
        ? []
        : [{ policy, field, taint, anyValue: false, mayEvict: false, present: false, required: false }];
    });
    const wanted = [...present.filter(({ anyValue }) => !anyValue), ...preserved, ...present];
    return [...Map.groupBy(wanted, ({ taint }) => identity(taint)).values()].flatMap((group) =>
      group.slice(0, 1).map((first) => ({
        ...first,
        mayEvict: group.some(({ mayEvict }) => mayEvict),
        required: group.some(({ required }) => required),
      })),
    );
  });
}

/** With which value the taint is to be: the first one that a policy names which does not only watch. */
function targetOf(group: readonly Claim[]): Taint {
  const binding = group.filter(({ policy }) => policy.mode !== 'Audit');
  const [first] = [...binding.filter(({ anyValue }) => !anyValue), ...binding, ...group];
  if (first === undefined) throw new Error('a group without a claim');
  return first.taint;
}

/** What is to be told of claims on one taint, which the node gets as the target has it where nothing hinders. */
function lossesOf(group: readonly Claim[], target: Taint, hindrance: Hindrance | undefined): Loss[] {
  if (hindrance !== undefined) return group.map(({ policy, field, taint }) => ({ policy, field, taint, hindrance }));
  const isMet = ({ taint, anyValue }: Claim) => anyValue || (taint.value ?? '') === (target.value ?? '');
  const unmet = group.filter((claim) => claim.present && !isMet(claim));
  const left = unmet.some(({ policy }) => policy.mode !== 'Audit') ? 'held' : 'mode';
  return group.flatMap((claim): Loss[] => {
    const { policy, field, taint } = claim;
    if (unmet.includes(claim)) return [{ policy, field, taint, hindrance: left }];
    // A remembered value may have given way to one that its policy does not mean.
    return isMet(claim) || policy.protectedBy(target) ? [{ policy, field, taint: target, hindrance }] : [];
  });
}

function isRemovableByAnnotation(taint: Taint, policies: readonly CompiledTaintPolicy[]): boolean {
  return policiesFor(policies, taint.key).every(
    (policy) =>
      policy.declared === 'Audit' ||
      policy.removableByAnnotation ||
      policy.wouldAllowByAnnotation ||
      policy.protectedBy(taint) === undefined,
  );
}
