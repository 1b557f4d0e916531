import { formatTaint, identity, type Taint, withTaints } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { allow, type Decision, patch } from './decision.ts';
import { holdOn, NONE_ESTABLISHED, protectionOn, remember } from './memory.ts';
import { announcements, binds, type Change, departureChange, namesOf, report } from './node-update-reports.ts';
import { type DesiredNode, isNode, type NativeRecord, type NodeUpdate, nativeViolation } from './node-view.ts';
import type { Outcome } from './outcomes.ts';
import {
  consumeAllowedRemovals,
  isRemovalAllowed,
  parseAllowedRemovals,
  parseRemoved,
  recordRemovals,
  roomBeside,
} from './removal.ts';
import {
  type Departure,
  departures,
  goesByExemption,
  goesWithLeave,
  isAdmitted,
  isBinding,
  isForbidden,
  isForbiddenDeparture,
  MAX_JUDGED,
  type Ruling,
  withoutKept,
} from './rulings.ts';

/** What an update does to taints that policies protect or guard. */
export interface Changes {
  readonly drops: readonly Ruling[];
  /** Of guarded taints; a changed value is one, also where the drop of the old one is forbidden. */
  readonly additions: readonly Ruling[];
}

/** What mutation makes of an update: see {@link judgeNodeUpdate}. */
export function mutateNode(
  request: NodeUpdate,
  { drops, additions }: Changes,
  added: readonly Taint[],
  natively: NativeRecord,
  policies: readonly CompiledTaintPolicy[],
): Decision<DesiredNode> {
  const { requester, node, oldNode } = request;
  // NodeRestriction judges the patched object as the node's own and would refuse all of it.
  const byNode = isNode(requester);
  const open = withoutKept(additions, drops);
  const restored = byNode ? [] : drops.filter(({ mode }) => mode === 'Restore');
  const reverted = byNode ? [] : open.filter(({ mode }) => mode === 'Restore');
  const taints = mended(request, restored, reverted);
  const mendedRequest = { ...request, node: { ...node, taints } };
  const departing = departures(mendedRequest, policies);
  const refused =
    [...drops, ...open].some(byNode ? isForbidden : ({ mode }) => mode === 'Deny') ||
    departing.some(isForbiddenDeparture);
  const stays = isAnyOf(taintsOf(reverted));
  const leaving = drops.filter(({ taint }) => !stays(taint));
  const concerns =
    drops.some(isBinding) ||
    reverted.length > 0 ||
    open.some(isAdmitted) ||
    added.some(holdOn(node.labels, policies, NONE_ESTABLISHED));
  if (byNode || !(concerns || natively.isNew)) {
    return refused ? allow() : passed(mendedRequest, { drops: leaving, additions: open }, departing, policies);
  }

  const allowed = parseAllowedRemovals(node.allowRemoval);
  // A release is spent only if the taint really goes: not when the request will be refused for another taint.
  const spent = refused ? [] : taintsOf(leaving.filter(goesWithLeave));
  const consumed = spent.filter((taint) => isRemovalAllowed(allowed, taint));
  const takenOut = [...additions.filter(isForbidden), ...natively.restored.filter(({ isAddition }) => isAddition)];
  const moved = { drops: leaving, admitted: taintsOf(open.filter(isAdmitted)), takenOut: taintsOf(takenOut) };
  const { removed, remembered } =
    refused || !(concerns || takenOut.length > 0) ? node : records(mendedRequest, moved, policies);
  const desired: DesiredNode = {
    taints,
    allowRemoval: consumed.length === 0 ? node.allowRemoval : consumeAllowedRemovals(allowed, consumed),
    remembered,
    removed,
    // What was there before is for the leader to record.
    restored: natively.isNew ? oldNode.restored : node.restored,
  };
  const isRight =
    restored.length + reverted.length + consumed.length === 0 &&
    remembered === node.remembered &&
    removed === node.removed &&
    !natively.isNew;
  // Of a request that validation refuses, nothing was done: there is nothing to report then.
  if (refused) return isRight ? allow() : patch(desired, [], []);

  const left = { ...mendedRequest, node: { ...mendedRequest.node, allowRemoval: desired.allowRemoval } };
  const rest = passed(left, { drops: leaving, additions: open }, departing, policies);
  if (isRight) return rest;
  return patch(
    desired,
    [
      ...restored.flatMap((ruling) => report(ruling, ruling.standing, 'restored')),
      ...reverted.flatMap((ruling) => report(ruling, ruling.standing, 'reverted')),
      ...natively.restored.map(nativeViolation),
      ...rest.violations,
    ],
    [
      ...restored.map(({ taint, standing }) => `${namesOf(standing)} restored taint ${formatTaint(taint)}`),
      ...reverted.map(({ taint, standing }) => removedText(namesOf(standing), taint)),
      ...natively.restored.map(({ taint, policy, isAddition }) => {
        const by = `TaintPolicy ${policy.name}`;
        return isAddition ? removedText(by, taint) : `${by} restored taint ${formatTaint(taint)}`;
      }),
      ...rest.warnings,
    ],
  );
}

/** What Deny and Restore policies let pass: by an exemption, by labels, or as the first half of a release. */
function passed(
  request: NodeUpdate,
  { drops, additions }: Changes,
  departing: readonly Departure[],
  policies: readonly CompiledTaintPolicy[],
): Decision<never> {
  const byExemption = (rulings: readonly Ruling[], outcome: Outcome) =>
    rulings
      .filter((ruling) => !isForbidden(ruling))
      .flatMap((ruling) => report(ruling, ruling.exempt.filter(binds), outcome));
  const changes: Change[] = [...departing.filter(binds).map(departureChange), ...announcements(request, policies)];
  return allow(
    [
      ...byExemption(drops, 'exempt'),
      ...byExemption(additions, 'addition-exempt'),
      ...changes.flatMap(({ violation }) => (violation ? [violation] : [])),
    ],
    changes.map(({ warning }) => warning),
  );
}

/** The taints with what was dropped in them again, and without what was added, or with the value that it had. */
function mended({ node, oldNode }: NodeUpdate, restored: readonly Ruling[], reverted: readonly Ruling[]): Taint[] {
  const isReverted = isAnyOf(taintsOf(reverted));
  const before = oldNode.taints.filter(isReverted);
  const isChanged = isAnyOf(before);
  const kept = node.taints.filter((taint) => !isReverted(taint) || isChanged(taint));
  return withTaints(kept, [...taintsOf(restored), ...before]);
}

function taintsOf(found: readonly { readonly taint: Taint }[]): Taint[] {
  return found.map(({ taint }) => taint);
}

interface Moved {
  readonly drops: readonly Ruling[];
  /** Guarded, and let in. */
  readonly admitted: readonly Taint[];
  /** Guarded, and not let in. */
  readonly takenOut: readonly Taint[];
}

/**
 * The annotations that say what became of the node's taints. What was taken out stays out of both, whatever the request says: whoever
 * brings back an old copy of the taints brings back an old copy of these.
 */
function records(
  { node, oldNode }: NodeUpdate,
  { drops, admitted, takenOut }: Moved,
  policies: readonly CompiledTaintPolicy[],
): Pick<DesiredNode, 'removed' | 'remembered'> {
  const { labels, taints, room } = node;
  const removed = recordRemovals({
    before: node.removed,
    gone: [
      ...taintsOf(drops.filter((ruling) => goesByExemption(ruling, node))),
      ...parseRemoved(oldNode.removed).filter(isAnyOf(takenOut)),
    ],
    carried: taints,
    labels,
    policies,
    room,
  });
  const remembered = remember({
    before: node.remembered,
    carried: taints.slice(0, MAX_JUDGED),
    forgotten: taintsOf(drops.filter(goesWithLeave)),
    admitted,
    rejected: takenOut,
    protects: protectionOn(labels, policies),
    settles: holdOn(labels, policies, oldNode.established),
    room: roomBeside(removed, room),
  });
  return { removed, remembered };
}

function isAnyOf(taints: readonly Taint[]): (taint: Taint) => boolean {
  if (taints.length === 0) return () => false;
  const identities = new Set(taints.map(identity));
  return (taint) => identities.has(identity(taint));
}

function removedText(by: string, taint: Taint): string {
  return `${by} removed taint ${formatTaint(taint)}: only exempt users may add it`;
}
