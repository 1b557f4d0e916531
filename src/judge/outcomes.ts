import type { EventReason } from '../kubernetes/event-reasons.ts';

/** What the request changes; or, with Missing, what the object lacks. */
type Change = 'Removal' | 'Missing';

/** What came of it. Reported: the object stays as it is, because this request cannot be changed so. */
export type Result = 'Denied' | 'Restored' | 'Added' | 'Audited' | 'Allowed' | 'Reported';

/** What an outcome consists of. */
interface OutcomeParts {
  readonly change: Change;
  readonly result: Result;
  /** Why it is allowed. */
  readonly reason?: 'Exempt' | 'Annotation';
  /** Only --audit keeps it from being done. */
  readonly audit?: true;
  /** The Event for taints of a Node: its reason, and what happened to the taints, which follow. */
  readonly event: { readonly reason: EventReason; readonly said: string };
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
  /** The allow-removal annotation allowed the removal. */
  'allowed-by-annotation': {
    ...{ change: 'Removal', result: 'Allowed', reason: 'Annotation' },
    event: { reason: 'TaintRemoved', said: 'allowed, by annotation, the removal of' },
  },
  /** Removed by a user whom the policy exempts. */
  exempt: {
    ...{ change: 'Removal', result: 'Allowed', reason: 'Exempt' },
    event: { reason: 'TaintRemoved', said: 'allowed an exempt user to remove' },
  },
} as const satisfies Readonly<Record<string, OutcomeParts>>;

/** The result of a violation. */
export type Outcome = keyof typeof OUTCOMES;

export function partsOf(outcome: Outcome): OutcomeParts {
  return OUTCOMES[outcome];
}

/** Whether an operator should check it: a line of level warn in the log, an Event of type Warning. */
export function isWarning(outcome: Outcome): boolean {
  const { result, audit } = partsOf(outcome);
  return audit === true || ['Denied', 'Audited', 'Reported'].includes(result);
}
