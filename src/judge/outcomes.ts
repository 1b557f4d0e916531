import type { EventReason } from '../kubernetes/event-reasons.ts';

/** What the request changes; or, with Missing, what the object lacks; or, with Announcement, what its annotation allows. */
type Change = 'Removal' | 'Addition' | 'Unselection' | 'Missing' | 'Announcement';

/** What came of it. Reported: the object stays as it is, because this request cannot be changed so. */
export type Result = 'Denied' | 'Restored' | 'Reverted' | 'Added' | 'Audited' | 'Allowed' | 'Reported';

/** What an outcome consists of. */
interface OutcomeParts {
  readonly change: Change;
  readonly result: Result;
  /** Why it is allowed, or added. */
  readonly reason?: 'Exempt' | 'Annotation' | 'Deleted';
  /** Only --audit keeps it from being done. */
  readonly audit?: true;
  /** The Event for taints of a Node: its reason, and what happened to the taints, which follow. Absent where the leader reports it. */
  readonly event?: { readonly reason: EventReason; readonly said: string };
}

/** By the name that metrics, the log and the audit log have for each. */
const OUTCOMES = {
  /** The request is refused. */
  denied: {
    ...{ change: 'Removal', result: 'Denied' },
    event: { reason: 'TaintRemovalDenied', said: 'refused the removal of' },
  },
  /** A removed taint was put back. */
  restored: { change: 'Removal', result: 'Restored', event: { reason: 'TaintRestored', said: 'restored' } },
  /** A required taint or a toleration was added. */
  added: { change: 'Missing', result: 'Added', event: { reason: 'TaintAdded', said: 'added' } },
  /**
   * A taint was put on a node that registers, as the Node of that name carried it that was deleted. The leader reports that a node came
   * back. A request does not show it: a kubelet that starts tries to register a node that already exists.
   */
  returned: { change: 'Missing', result: 'Added', reason: 'Deleted' },
  /** A taint or a toleration that should be there is not, and this request is not the one to add it. */
  missing: { change: 'Missing', result: 'Reported', event: { reason: 'TaintMissing', said: 'reports missing' } },
  /** The policy's mode is Audit: reported, let through. Where an object is created, what is reported is missing. */
  audited: {
    ...{ change: 'Removal', result: 'Audited' },
    event: { reason: 'TaintRemoved', said: 'in mode Audit, allowed the removal of' },
  },
  /** The same, where only --audit makes the policy's mode Audit: otherwise the request would be refused. */
  'would-deny': {
    ...{ change: 'Removal', result: 'Denied', audit: true },
    event: { reason: 'TaintRemoved', said: 'would refuse, without --audit, the removal of' },
  },
  /** The same: otherwise the removed taint would be put back. */
  'would-restore': {
    ...{ change: 'Removal', result: 'Restored', audit: true },
    event: { reason: 'TaintRemoved', said: 'would restore, without --audit, the removed' },
  },
  /** The same: otherwise a required taint or a toleration would be added. */
  'would-add': {
    ...{ change: 'Missing', result: 'Added', audit: true },
    event: { reason: 'TaintMissing', said: 'would add, without --audit,' },
  },
  /** The allow-removal annotation was set: the taint may be removed once. */
  announced: {
    ...{ change: 'Announcement', result: 'Allowed' },
    event: { reason: 'TaintRemovalAnnounced', said: 'will allow, once, the removal of' },
  },
  /** The allow-removal annotation allowed the removal. */
  'allowed-by-annotation': {
    ...{ change: 'Removal', result: 'Allowed', reason: 'Annotation' },
    event: { reason: 'TaintRemovalAllowed', said: 'allowed, as announced, the removal of' },
  },
  /** Removed by a user whom the policy exempts. */
  exempt: {
    ...{ change: 'Removal', result: 'Allowed', reason: 'Exempt' },
    event: { reason: 'TaintRemoved', said: 'allowed an exempt user to remove' },
  },
  /** The request is refused: it adds a restricted taint, or changes its value. */
  'addition-denied': {
    ...{ change: 'Addition', result: 'Denied' },
    event: { reason: 'TaintAdditionDenied', said: 'refused the addition of' },
  },
  /** A restricted addition was removed from the request, or the earlier value was restored. */
  reverted: {
    change: 'Addition',
    result: 'Reverted',
    event: { reason: 'TaintAdditionReverted', said: 'removed the added' },
  },
  /** The policy's mode is Audit: an addition was reported, and let through. */
  'addition-audited': {
    ...{ change: 'Addition', result: 'Audited' },
    event: { reason: 'TaintAdded', said: 'in mode Audit, allowed the addition of' },
  },
  /** The same, where only --audit makes the policy's mode Audit: otherwise the request would be refused. */
  'addition-would-deny': {
    ...{ change: 'Addition', result: 'Denied', audit: true },
    event: { reason: 'TaintAdded', said: 'would refuse, without --audit, the addition of' },
  },
  /** The same: otherwise the taint would be taken out, or its value changed back. */
  'addition-would-revert': {
    ...{ change: 'Addition', result: 'Reverted', audit: true },
    event: { reason: 'TaintAdded', said: 'would remove, without --audit, the added' },
  },
  /** Added by a user whom the policy exempts. */
  'addition-exempt': {
    ...{ change: 'Addition', result: 'Allowed', reason: 'Exempt' },
    event: { reason: 'TaintAdded', said: 'allowed an exempt user to add' },
  },
  /** The node left the policy, by its labels, with the taint still on it: the policy no longer protects it. */
  unselected: {
    ...{ change: 'Unselection', result: 'Allowed' },
    event: { reason: 'TaintUnprotected', said: 'no longer selects the node and so no longer protects' },
  },
  /** The request is refused: the node would leave the policy, by its labels, with the taint still on it. */
  'unselection-denied': {
    ...{ change: 'Unselection', result: 'Denied' },
    event: { reason: 'NodeUnselectionDenied', said: 'refused a label change that ends the protection of' },
  },
  /** The same, in mode Audit: reported, let through. */
  'unselection-audited': {
    ...{ change: 'Unselection', result: 'Audited' },
    event: { reason: 'TaintUnprotected', said: 'in mode Audit, allowed a label change that ends the protection of' },
  },
  /** The same, where only --audit makes the policy's mode Audit: otherwise the request would be refused. */
  'unselection-would-deny': {
    ...{ change: 'Unselection', result: 'Denied', audit: true },
    event: {
      reason: 'TaintUnprotected',
      said: 'would refuse, without --audit, a label change that ends the protection of',
    },
  },
} as const satisfies Readonly<Record<string, OutcomeParts>>;

/** The result of a violation. */
export type Outcome = keyof typeof OUTCOMES;

export function partsOf(outcome: Outcome): OutcomeParts {
  return OUTCOMES[outcome];
}

/** Whether an operator should check it: a line of level warn in the log, an Event of type Warning. */
export function isWarning(outcome: Outcome): boolean {
  const { change, result, audit } = partsOf(outcome);
  return audit === true || change === 'Unselection' || ['Denied', 'Audited', 'Reported'].includes(result);
}
