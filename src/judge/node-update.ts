import { droppedTaints, formatTaint, identity, type Taint, withTaints } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { allow, type Decision, deny, type Outcome, patch, taintViolation, type Violation } from './decision.ts';
import { holdOn, NONE_SETTLED, protectionOn, remember, settledOn } from './memory.ts';
import { changesOfProtection, refusal } from './node-update-reports.ts';
import {
  type DesiredNode,
  isNode,
  type NativeRecord,
  NO_RECORD,
  type NodeUpdate,
  nativeRecord,
  nativeViolation,
} from './node-view.ts';
import { consumeRelease, isReleased, parseRelease, parseRemoved, recordRemovals, roomBeside } from './removal.ts';
import {
  additionRulings,
  departures,
  dropRulings,
  goesByExemption,
  goesWithLeave,
  isAdmitted,
  isBinding,
  isForbidden,
  isForbiddenDeparture,
  type Protection,
  type Ruling,
  withoutKept,
} from './rulings.ts';

/** What an update does to taints that policies protect or guard. */
interface Changes {
  readonly drops: readonly Ruling[];
  /** Of guarded taints; a changed value is one, also where the drop of the old one is forbidden. */
  readonly additions: readonly Ruling[];
}

/**
 * Protects the taints that an update drops, and guards those that it adds. Mutation puts back what Restore policies protect, takes
 * out what they guard, takes spent entries out of the release annotation, remembers what the node is left with, records the Present
 * taints that somebody exempt removes, and tells what native policies did before; validation refuses what is still against a Deny or
 * a Restore policy, and records the rest.
 */
export function judgeNodeUpdate(request: NodeUpdate, policies: readonly CompiledTaintPolicy[]): Decision<DesiredNode> {
  const { phase, node, oldNode } = request;
  const dropped = droppedTaints(oldNode.taints, node.taints);
  const added = phase === 'mutate' ? droppedTaints(node.taints, oldNode.taints) : [];
  const natively = phase === 'mutate' ? nativeRecord(request, policies) : NO_RECORD;
  if (phase === 'mutate' && dropped.length + added.length === 0 && !natively.isNew) return allow();

  // Both sets of labels: a node cannot leave a policy in the same update that drops the taint.
  const selecting = policies.filter((policy) => policy.selectsNode(oldNode.labels) || policy.selectsNode(node.labels));
  const changes = { drops: dropRulings(request, dropped, selecting), additions: additionRulings(request, selecting) };
  return phase === 'mutate'
    ? mutate(request, changes, added, natively, selecting)
    : validate(request, changes, selecting);
}

function mutate(
  request: NodeUpdate,
  { drops, additions }: Changes,
  added: readonly Taint[],
  natively: NativeRecord,
  policies: readonly CompiledTaintPolicy[],
): Decision<DesiredNode> {
  const { requester, node, oldNode } = request;
  // NodeRestriction judges the patched object as the node's own and would refuse all of it.
  if (isNode(requester)) return allow();
  const open = withoutKept(additions, drops);
  const restored = drops.filter(({ mode }) => mode === 'Restore');
  const reverted = open.filter(({ mode }) => mode === 'Restore');
  const concerns =
    drops.some(isBinding) ||
    reverted.length > 0 ||
    open.some(isAdmitted) ||
    added.some(holdOn(node.labels, policies, NONE_SETTLED));
  if (!concerns && !natively.isNew) return allow();

  const taints = mended(request, restored, reverted);
  const mendedRequest = { ...request, node: { ...node, taints } };
  const refused =
    [...drops, ...open].some(({ mode }) => mode === 'Deny') ||
    departures(mendedRequest, policies).some(isForbiddenDeparture);
  const release = parseRelease(node.release);
  const stays = isAnyOf(taintsOf(reverted));
  const leaving = drops.filter(({ taint }) => !stays(taint));
  // A release is spent only if the taint really goes: not when the request will be refused for another taint.
  const spent = refused ? [] : taintsOf(leaving.filter(goesWithLeave));
  const consumed = spent.filter((taint) => isReleased(release, taint));
  const takenOut = [...additions.filter(isForbidden), ...natively.restored.filter(({ isAddition }) => isAddition)];
  const moved = { drops: leaving, admitted: taintsOf(open.filter(isAdmitted)), takenOut: taintsOf(takenOut) };
  const { removed, remembered } =
    refused || !(concerns || takenOut.length > 0) ? node : records(mendedRequest, moved, policies);
  const isRight =
    restored.length + reverted.length + consumed.length === 0 &&
    remembered === node.remembered &&
    removed === node.removed;
  if (isRight && !natively.isNew) return allow();

  // Of a request that validation refuses, nothing was done: there is nothing to report then.
  const done = refused ? [] : restored;
  const undone = refused ? [] : reverted;
  const told = refused ? [] : natively.restored;
  return patch(
    {
      taints,
      release: consumed.length === 0 ? node.release : consumeRelease(release, consumed),
      remembered,
      removed,
      // What was there before is for the leader to record.
      restored: natively.isNew ? oldNode.restored : node.restored,
    },
    [
      ...done.flatMap((ruling) => report(ruling, ruling.standing, 'restored')),
      ...undone.flatMap((ruling) => report(ruling, ruling.standing, 'reverted')),
      ...told.map(nativeViolation),
    ],
    [
      ...done.map(({ taint, standing }) => `${names(standing)} restored taint ${formatTaint(taint)}`),
      ...undone.map(({ taint, standing }) => takenOutText(names(standing), taint)),
      ...told.map(({ taint, policy, isAddition }) => {
        const by = `TaintPolicy ${policy.name}`;
        return isAddition ? takenOutText(by, taint) : `${by} restored taint ${formatTaint(taint)}`;
      }),
    ],
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
    carried: taints,
    forgotten: taintsOf(drops.filter(goesWithLeave)),
    admitted,
    rejected: takenOut,
    protects: protectionOn(labels, policies),
    settles: holdOn(labels, policies, settledOn(oldNode.remembered)),
    room: roomBeside(removed, room),
  });
  return { removed, remembered };
}

function isAnyOf(taints: readonly Taint[]): (taint: Taint) => boolean {
  const identities = new Set(taints.map(identity));
  return (taint) => identities.has(identity(taint));
}

function validate(
  request: NodeUpdate,
  { drops, additions }: Changes,
  policies: readonly CompiledTaintPolicy[],
): Decision<never> {
  const denied = drops.filter(isForbidden);
  const open = withoutKept(additions, drops);
  const intruding = open.filter(isForbidden);
  const departing = departures(request, policies);
  const held = departing.filter(isForbiddenDeparture);
  if (denied.length + intruding.length + held.length > 0) {
    return deny(refusal(request, { denied, intruding, held }, isNode(request.requester)), [
      ...denied.flatMap((ruling) => report(ruling, ruling.standing, 'denied')),
      ...intruding.flatMap((ruling) => report(ruling, ruling.standing, 'addition-denied')),
      ...held.map(({ policy, field, taint }) => taintViolation(policy, field, taint, 'leaving-denied')),
    ]);
  }
  const released = drops.filter((ruling) => ruling.released.length > 0);
  const dropped = drops.filter(({ mode }) => mode === 'Audit');
  const added = open.filter(({ mode }) => mode === 'Audit');
  const changes = changesOfProtection(request, departing, policies);
  return allow(
    [
      ...dropped.flatMap((ruling) => report(ruling, ruling.standing, 'audited')),
      ...released.flatMap((ruling) => report(ruling, ruling.released, 'released')),
      ...drops.flatMap((ruling) => report(ruling, ruling.exempt, 'exempt')),
      ...added.flatMap((ruling) => report(ruling, ruling.standing, 'addition-audited')),
      ...open.flatMap((ruling) => report(ruling, ruling.exempt, 'addition-exempt')),
      ...changes.violations,
    ],
    [
      ...dropped.flatMap((ruling) => auditWarnings(ruling, 'dropped')),
      ...released.map((ruling) => `${names(ruling.released)} released taint ${formatTaint(ruling.taint)}`),
      ...added.flatMap((ruling) => auditWarnings(ruling, 'added')),
      ...changes.warnings,
    ],
  );
}

/** By what enforcing would do, where only --audit makes the policies' mode Audit. */
function auditWarnings({ taint, standing }: Ruling, what: 'dropped' | 'added'): string[] {
  const text = `${what === 'added' ? 'guarded ' : ''}taint ${formatTaint(taint)}`;
  const modeOf = ({ policy, field }: Protection) => (what === 'dropped' ? policy.trial(field) : policy.declared);
  return [...Map.groupBy(standing, modeOf)].map(([mode, protections]) => {
    if (mode === 'Audit') return `${names(protections)}, Audit: ${text} was ${what}`;
    const [refused, undone] = what === 'dropped' ? ['refuse to drop', 'restore'] : ['refuse', 'take out'];
    return `${names(protections)} would ${mode === 'Deny' ? refused : undone} ${text} (--audit)`;
  });
}

function report({ taint }: Ruling, protections: readonly Protection[], outcome: Outcome): Violation[] {
  return protections.map(({ policy, field }) => taintViolation(policy, field, taint, outcome));
}

function names(protections: readonly Protection[]): string {
  return `TaintPolicy ${protections.map(({ policy }) => policy.name).join(', ')}`;
}

function takenOutText(by: string, taint: Taint): string {
  return `${by} took taint ${formatTaint(taint)} out again: it guards additions`;
}
