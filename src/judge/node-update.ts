import { formatTaint, removedTaints, type Taint, withoutEqualEnds } from '../kubernetes/taint.ts';
import { atMost } from '../kubernetes/text.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { allow, type Decision, deny, taintViolation, type Violation } from './decision.ts';
import { type Changes, mutateNode } from './node-mutation.ts';
import { departureChange, namesOf, refusal, report, watches } from './node-update-reports.ts';
import { type DesiredNode, isNode, type NodeUpdate, sameLabels } from './node-view.ts';
import type { Outcome } from './outcomes.ts';
import {
  additionRulings,
  departures,
  isForbidden,
  isForbiddenDeparture,
  MAX_COMPARED,
  MAX_JUDGED,
  type Protection,
  type Ruling,
  removalRulings,
  withoutKept,
} from './rulings.ts';

/**
 * Protects the taints that an update removes, and guards those that it adds. Mutation puts back what Restore policies protect, takes
 * out what they guard, and keeps the annotation `allow-removal` as the leader is to find it. It also says what Deny and Restore policies let
 * pass, but for removals that the annotation allows, which validation reports. Validation refuses what is still against a Deny or a Restore
 * policy, and reports what Audit policies see.
 */
export function judgeNodeUpdate(request: NodeUpdate, policies: readonly CompiledTaintPolicy[]): Decision<DesiredNode> {
  const { phase, node, oldNode } = request;
  const [before, after] = withoutEqualEnds(oldNode.taints, node.taints);
  if (Math.max(before.length, after.length) > MAX_COMPARED) return judgeUncompared(request, [before, after], policies);
  const removed = removedTaints(oldNode.taints, node.taints);
  const added = removedTaints(node.taints, oldNode.taints);
  const changesTaints = removed.length + added.length > 0;
  if (phase === 'mutate' && !changesTaints && node.allowRemoval === oldNode.allowRemoval && sameLabels(node, oldNode)) {
    return allow();
  }

  // Both sets of labels: a node cannot leave a policy in the same update that removes the taint.
  const selecting = selectingAmong(policies, request);
  if (Math.max(removed.length, added.length) > MAX_JUDGED) {
    const what = `${removed.length} taints are removed and ${added.length} added in one update`;
    const unread = { what, limit: `at most ${MAX_JUDGED} of each are judged` };
    const beyond = (count: number) => (count > MAX_JUDGED ? count : 0);
    return judgeUnread(request, { ...unread, removed: beyond(removed.length), added: beyond(added.length) }, selecting);
  }
  const changes = {
    removals: removalRulings(request, removed, selecting),
    additions: additionRulings(request, selecting),
  };
  return phase === 'mutate' ? mutateNode(request, changes, selecting) : validate(request, changes, selecting);
}

function selectingAmong(policies: readonly CompiledTaintPolicy[], { node, oldNode }: NodeUpdate) {
  return policies.filter((policy) => policy.selectsNode(oldNode.labels) || policy.selectsNode(node.labels));
}

/** An update of more taints than are compared: nobody knows which of them it removes or adds. */
function judgeUncompared(
  request: NodeUpdate,
  [before, after]: readonly [before: readonly Taint[], after: readonly Taint[]],
  policies: readonly CompiledTaintPolicy[],
): Decision<never> {
  const what = `${before.length} taints in a row are replaced by ${after.length} in one update`;
  const unread = { what, limit: `at most ${MAX_COMPARED} of each are compared` };
  return judgeUnread(
    request,
    { ...unread, removed: before.length, added: after.length },
    selectingAmong(policies, request),
  );
}

/** Taints of an update that are not judged one by one. */
interface Unread {
  readonly what: string;
  readonly limit: string;
  /** How many it may remove that were not judged. */
  readonly removed: number;
  /** How many it may add that were not judged. */
  readonly added: number;
}

/**
 * An update of more taints than are compared with the rules. It is refused where a policy is in force that they may concern, because a protected taint
 * can be among those that it removes; mutation leaves it as it is.
 */
function judgeUnread(
  { phase, requester, node }: NodeUpdate,
  { what, limit, removed, added }: Unread,
  policies: readonly CompiledTaintPolicy[],
): Decision<never> {
  if (phase === 'mutate') return allow();
  const binding = policies.filter(({ mode, exempts }) => mode !== 'Audit' && !exempts(requester));
  const removing = removed > 0 ? binding.filter(({ rules }) => rules.length > 0) : [];
  const adding = added > 0 ? binding.filter(({ additionRules }) => additionRules.length > 0) : [];
  if (removing.length + adding.length === 0) return allow([], [`node ${node.name}: ${what}; ${limit}`]);
  const refusing = (found: readonly CompiledTaintPolicy[], outcome: Outcome, count: number) =>
    found.map(({ name, mode }): Violation => {
      const subject = `${count} taints`;
      return { policyKind: 'TaintPolicy', policy: name, field: 'spec.taints', mode, outcome, subject };
    });
  const names = atMost(
    MAX_NAMED,
    [...new Set([...removing, ...adding])].map(({ name }) => `"${name}"`),
  );
  return deny(
    `node ${node.name}: ${what}, and ${limit} where a TaintPolicy restricts changes of taints: ${names.join(', ')}. ` +
      'Change fewer taints in one update, or delete the node and register it again.',
    [...refusing(removing, 'denied', removed), ...refusing(adding, 'addition-denied', added)],
  );
}

const MAX_NAMED = 8;

function validate(
  request: NodeUpdate,
  { removals, additions }: Changes,
  policies: readonly CompiledTaintPolicy[],
): Decision<never> {
  const deniedRemovals = removals.filter(isForbidden);
  const open = withoutKept(additions, removals);
  const deniedAdditions = open.filter(isForbidden);
  const departing = departures(request, policies);
  const deniedUnselections = departing.filter(isForbiddenDeparture);
  if (deniedRemovals.length + deniedAdditions.length + deniedUnselections.length > 0) {
    return deny(refusal(request, { deniedRemovals, deniedAdditions, deniedUnselections }, isNode(request.requester)), [
      ...deniedRemovals.flatMap((ruling) => report(ruling, ruling.enforcing, 'denied')),
      ...deniedAdditions.flatMap((ruling) => report(ruling, ruling.enforcing, 'addition-denied')),
      ...deniedUnselections.map(({ policy, field, taint }) =>
        taintViolation(policy, field, taint, 'unselection-denied'),
      ),
    ]);
  }
  const allowed = removals.filter((ruling) => ruling.allowed.length > 0);
  const audited = removals.filter(({ mode }) => mode === 'Audit');
  const added = open.filter(({ mode }) => mode === 'Audit');
  const departed = departing.filter(watches).map(departureChange);
  return allow(
    [
      ...audited.flatMap((ruling) => report(ruling, ruling.enforcing, 'audited')),
      ...allowed.flatMap((ruling) => report(ruling, ruling.allowed, 'allowed-by-annotation')),
      ...removals.flatMap((ruling) => report(ruling, ruling.exempt.filter(watches), 'exempt')),
      ...added.flatMap((ruling) => report(ruling, ruling.enforcing, 'addition-audited')),
      ...open.flatMap((ruling) => report(ruling, ruling.exempt.filter(watches), 'addition-exempt')),
      ...departed.flatMap(({ violation }) => (violation ? [violation] : [])),
    ],
    [
      ...audited.flatMap((ruling) => auditWarnings(ruling, 'removed')),
      ...allowed.map(({ taint, allowed: by }) =>
        by.some(({ policy }) => policy.wouldAllowByAnnotation)
          ? `${namesOf(by)} would allow the removal of taint ${formatTaint(taint)} by annotation (--audit)`
          : `${namesOf(by)} allowed the removal of taint ${formatTaint(taint)} by annotation`,
      ),
      ...added.flatMap((ruling) => auditWarnings(ruling, 'added')),
      ...departed.map(({ warning }) => warning),
    ],
  );
}

/** By what enforcing would do, where only --audit makes the policies' mode Audit. */
function auditWarnings({ taint, enforcing }: Ruling, what: 'removed' | 'added'): string[] {
  const text = `taint ${formatTaint(taint)}`;
  const modeOf = ({ policy, field }: Protection) => (what === 'removed' ? policy.trial(field) : policy.declared);
  return [...Map.groupBy(enforcing, modeOf)].map(([mode, protections]) => {
    if (mode === 'Audit')
      return `${namesOf(protections)}, Audit: the request ${what === 'removed' ? 'removed' : 'added restricted'} ${text}`;
    const [denied, undone] = what === 'removed' ? ['deny removing', 'restore'] : ['deny adding', 'remove added'];
    return `${namesOf(protections)} would ${mode === 'Deny' ? denied : undone} ${text} (--audit)`;
  });
}
