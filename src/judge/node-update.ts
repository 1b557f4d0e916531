import { droppedTaints, formatTaint, sameTaint, type Taint, valuesOf, withTaints } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy, Requester } from '../policy/policy-set.ts';
import { allow, type Decision, deny, type Outcome, patch, taintViolation, type Violation } from './decision.ts';
import { holdOn, NONE_SETTLED, protectionOn, remember, settledOn } from './memory.ts';
import { changesOfProtection, type Protection, type Ruling, refusal } from './node-update-reports.ts';
import type { DesiredNode, NodeUpdate, NodeView } from './node-view.ts';
import {
  consumeRelease,
  isPresentTaint,
  isReleased,
  parseRelease,
  recordRemovals,
  roomBeside,
  satisfies,
} from './removal.ts';
import { type NativeRecord, NO_RECORD, nativeRecord, nativeViolation } from './restored-natively.ts';

/**
 * Protects the taints that an update drops. Mutation puts back what Restore policies protect, takes spent entries out of the
 * release annotation, remembers what the node is left with, records the Present taints that somebody exempt removes, and tells what
 * native policies put back before; validation refuses what is still dropped against a Deny or a Restore policy, and records the rest.
 */
export function judgeNodeUpdate(request: NodeUpdate, policies: readonly CompiledTaintPolicy[]): Decision<DesiredNode> {
  const { phase, node, oldNode } = request;
  const dropped = droppedTaints(oldNode.taints, node.taints);
  const added = phase === 'mutate' ? droppedTaints(node.taints, oldNode.taints) : [];
  const natively = phase === 'mutate' ? nativeRecord(request, policies) : NO_RECORD;
  if (phase === 'mutate' && dropped.length + added.length === 0 && !natively.isNew) return allow();

  // Both sets of labels: a node cannot leave a policy in the same update that drops the taint.
  const selecting = policies.filter((policy) => policy.selectsNode(oldNode.labels) || policy.selectsNode(node.labels));
  const releases = releaseCheck(request);
  // As with a release: no single write can take a taint out of the memory and off the node.
  const isSettled = settledOn(oldNode.remembered);
  const rulings = dropped.map((taint) => rule(taint, selecting, request, { releases, isSettled }));
  return phase === 'mutate'
    ? mutate(request, rulings, added, natively, selecting)
    : validate(request, rulings, selecting);
}

/**
 * Whether a release lets a taint go. The annotation counts as it stood before the request, so that no single write can both
 * announce and remove. It is honoured once: by the time of validation it must be gone.
 */
function releaseCheck({ phase, node, oldNode }: NodeUpdate): (taint: Taint) => boolean {
  const before = parseRelease(oldNode.release);
  const after = parseRelease(node.release);
  return (taint) => isReleased(before, taint) && (phase === 'mutate' || !isReleased(after, taint));
}

function rule(
  taint: Taint,
  policies: readonly CompiledTaintPolicy[],
  { requester }: NodeUpdate,
  { releases, isSettled }: Record<'releases' | 'isSettled', (taint: Taint) => boolean>,
): Ruling {
  const standing: Protection[] = [];
  const released: Protection[] = [];
  const exempt: Protection[] = [];
  for (const policy of policies) {
    const field = policy.heldBy(taint, isSettled);
    if (field === undefined) continue;
    if (policy.exempts(requester)) exempt.push({ policy, field });
    else if (policy.releasable && releases(taint)) released.push({ policy, field });
    else standing.push({ policy, field });
  }
  // Policies come with the strongest mode first.
  const mode = standing[0]?.policy.mode;
  return { taint, mode, standing: standing.filter(({ policy }) => policy.mode === mode), released, exempt };
}

function mutate(
  { requester, node, oldNode }: NodeUpdate,
  rulings: readonly Ruling[],
  added: readonly Taint[],
  natively: NativeRecord,
  policies: readonly CompiledTaintPolicy[],
): Decision<DesiredNode> {
  // NodeRestriction judges the patched object as the node's own and would refuse all of it.
  if (isNode(requester)) return allow();
  const concerns = rulings.some(isBinding) || added.some(holdOn(node.labels, policies, NONE_SETTLED));
  if (!concerns && !natively.isNew) return allow();

  const refused = rulings.some(({ mode }) => mode === 'Deny');
  const restored = rulings.filter(({ mode }) => mode === 'Restore');
  const release = parseRelease(node.release);
  // A release is spent only if the taint really goes: not when the request will be refused for another taint.
  const spent = refused ? [] : rulings.filter(goesWithLeave).map(({ taint }) => taint);
  const consumed = spent.filter((taint) => isReleased(release, taint));
  const restoredTaints = restored.map(({ taint }) => taint);
  const taints = withTaints(node.taints, restoredTaints);
  const removed =
    refused || !concerns
      ? node.removed
      : recordRemovals({
          before: node.removed,
          gone: rulings.filter((ruling) => goesByExemption(ruling, node)).map(({ taint }) => taint),
          carried: taints,
          labels: node.labels,
          policies,
          room: node.room,
        });
  const remembered =
    refused || !concerns
      ? node.remembered
      : remember({
          before: node.remembered,
          carried: taints,
          forgotten: rulings.filter(goesWithLeave).map(({ taint }) => taint),
          protects: protectionOn(node.labels, policies),
          settles: holdOn(node.labels, policies, settledOn(oldNode.remembered)),
          room: roomBeside(removed, node.room),
        });
  const isRight =
    restored.length === 0 && consumed.length === 0 && remembered === node.remembered && removed === node.removed;
  if (isRight && !natively.isNew) return allow();

  // Of a request that validation refuses, nothing was done: there is nothing to report then.
  const done = refused ? [] : restored;
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
    [...done.flatMap((ruling) => report(ruling, ruling.standing, 'restored')), ...told.map(nativeViolation)],
    [
      ...done.map(({ taint, standing }) => `${names(standing)} restored taint ${formatTaint(taint)}`),
      ...told.map(({ taint, policy }) => `TaintPolicy ${policy.name} restored taint ${formatTaint(taint)}`),
    ],
  );
}

/** Whether the taint is, or was, protected by more than a policy that watches. */
function isBinding({ mode, released, exempt }: Ruling): boolean {
  const held = mode === 'Deny' || mode === 'Restore';
  return held || released.length > 0 || exempt.some(({ policy }) => policy.mode !== 'Audit');
}

/** Whether nothing holds the taint back. */
function goes({ mode }: Ruling): boolean {
  return mode === undefined || mode === 'Audit';
}

/**
 * Whether the taint goes for good, so that its release must not serve again, nor its memory last. Audit policies change nothing;
 * and of a value that nobody protects, another one may be remembered.
 */
function goesWithLeave(ruling: Ruling): boolean {
  const { released, exempt } = ruling;
  return goes(ruling) && (released.length > 0 || exempt.some(({ policy }) => policy.mode !== 'Audit'));
}

/** Whether the node goes without a Present taint because the policy that declares it exempts the requester. */
function goesByExemption(ruling: Ruling, { labels, taints }: NodeView): boolean {
  const { taint, exempt } = ruling;
  const left = valuesOf(taints.filter((one) => sameTaint(one, taint)));
  const misses = ({ mode, present, selectsNode }: CompiledTaintPolicy) =>
    mode !== 'Audit' &&
    selectsNode(labels) &&
    present.some(({ value }) => isPresentTaint(taint, value) && !satisfies(left, value));
  return goes(ruling) && exempt.some(({ policy }) => misses(policy));
}

function validate(
  request: NodeUpdate,
  rulings: readonly Ruling[],
  policies: readonly CompiledTaintPolicy[],
): Decision<never> {
  const denied = rulings.filter(({ mode }) => mode === 'Deny' || mode === 'Restore');
  if (denied.length > 0) {
    return deny(
      refusal(request, denied, isNode(request.requester)),
      denied.flatMap((ruling) => report(ruling, ruling.standing, 'denied')),
    );
  }
  const audited = rulings.filter(({ mode }) => mode === 'Audit');
  const released = rulings.filter((ruling) => ruling.released.length > 0);
  const changes = changesOfProtection(request, policies);
  return allow(
    [
      ...audited.flatMap((ruling) => report(ruling, ruling.standing, 'audited')),
      ...released.flatMap((ruling) => report(ruling, ruling.released, 'released')),
      ...rulings.flatMap((ruling) => report(ruling, ruling.exempt, 'exempt')),
      ...changes.violations,
    ],
    [
      ...audited.flatMap(auditWarnings),
      ...released.map((ruling) => `${names(ruling.released)} released taint ${formatTaint(ruling.taint)}`),
      ...changes.warnings,
    ],
  );
}

/** By what enforcing would do, where only --audit makes the policies' mode Audit. */
function auditWarnings({ taint, standing }: Ruling): string[] {
  const text = formatTaint(taint);
  const byTrial = Map.groupBy(standing, ({ policy, field }) => policy.trial(field));
  return [...byTrial].map(([trial, protections]) => {
    if (trial === 'Audit') return `${names(protections)}, Audit: taint ${text} was dropped`;
    return `${names(protections)} would ${trial === 'Deny' ? 'refuse to drop' : 'restore'} taint ${text} (--audit)`;
  });
}

function report({ taint }: Ruling, protections: readonly Protection[], outcome: Outcome): Violation[] {
  return protections.map(({ policy, field }) => taintViolation(policy, field, taint, outcome));
}

function names(protections: readonly Protection[]): string {
  return `TaintPolicy ${protections.map(({ policy }) => policy.name).join(', ')}`;
}

/** A kubelet, by the API server's rule (`NodeIdentity` of k8s.io/kubernetes/pkg/auth/nodeidentifier). */
function isNode({ username, groups }: Requester): boolean {
  return username.startsWith('system:node:') && groups.includes('system:nodes');
}
