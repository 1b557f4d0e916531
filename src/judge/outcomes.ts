import type { EventReason } from '../policy/reporting/event-reasons.ts';

/**
 * The result of a violation, in three parts. The metrics have them as labels, and the log, the page and `review` as fields. Each has few values.
 */
export type Outcome = {
  /** Whether taintkeeper only reports, because of --audit, that it would have this result. */
  readonly audit: boolean;
} & (
  | {
      /** The request removes a taint. */
      readonly change: 'Removal';
      readonly result: RemovalResult;
    }
  | {
      /** The object lacks a required taint or a toleration. */
      readonly change: 'Missing';
      readonly result: MissingResult;
    }
);

export type RemovalResult =
  /** The request is refused. */
  | 'Denied'
  /** The removed taint was restored. */
  | 'Restored'
  /** The mode of the policy is Audit: the request passes with a warning. */
  | 'Audited'
  /** The policy exempts the user. */
  | 'AllowedByExemption'
  /** The allow-removal annotation allowed the removal. */
  | 'AllowedByAnnotation';

export type MissingResult =
  /** The taint or the toleration was added. */
  | 'Added'
  /** The mode of the policy is Audit: the request passes with a warning. */
  | 'Audited'
  /** The object stays unchanged, because this request cannot be changed in this way. */
  | 'Reported';

export type Result = Outcome['result'];

export function removalOutcome(result: RemovalResult): Outcome {
  return { change: 'Removal', result, audit: false };
}

export function missingOutcome(result: MissingResult): Outcome {
  return { change: 'Missing', result, audit: false };
}

/** The outcome as one that only --audit prevents. */
export function onTrial(outcome: Outcome): Outcome {
  return { ...outcome, audit: true };
}

interface Wording {
  /** The words before the taint or the toleration in a text. */
  readonly word: string;
  /** The beginning of the note of an Event, after which the taints follow. */
  readonly note: string;
}

const REMOVALS: Readonly<Record<RemovalResult, Wording>> = {
  Denied: { word: 'denied', note: 'refused the removal of' },
  Restored: { word: 'restored', note: 'restored' },
  Audited: { word: 'audited', note: 'in mode Audit, allowed the removal of' },
  AllowedByExemption: { word: 'allowed by exemption', note: 'allowed an exempt user to remove' },
  AllowedByAnnotation: { word: 'allowed by annotation', note: 'allowed, by annotation, the removal of' },
};

const MISSING: Readonly<Record<MissingResult, Wording>> = {
  Added: { word: 'added', note: 'added' },
  Audited: { word: 'audited', note: 'in mode Audit, reports missing' },
  Reported: { word: 'missing', note: 'reports missing' },
};

const TRIALS: Readonly<Partial<Record<Result, Wording>>> = {
  Denied: { word: 'would deny', note: 'would refuse, without --audit, the removal of' },
  Restored: { word: 'would restore', note: 'would restore, without --audit, the removed' },
  Added: { word: 'would add', note: 'would add, without --audit,' },
};

function wordingOf(outcome: Outcome): Wording {
  const trial = outcome.audit ? TRIALS[outcome.result] : undefined;
  return trial ?? (outcome.change === 'Removal' ? REMOVALS[outcome.result] : MISSING[outcome.result]);
}

/** The outcome in words that stand before the taint or the toleration, such as `denied` or `would restore`. */
export function outcomeText(outcome: Outcome): string {
  return wordingOf(outcome).word;
}

/** The key of an audit annotation, such as `denied`, or `audit-denied` if only --audit kept the request from being denied. */
export function auditKey({ result, audit }: Outcome): string {
  return `${audit ? 'audit-' : ''}${resultKey(result)}`;
}

/** The same for a result that is in force: `AllowedByAnnotation` is `allowed-by-annotation`. */
export function resultKey(result: Result): string {
  return result.replaceAll(/(?<=.)[A-Z]/g, '-$&').toLowerCase();
}

/** Whether an operator should check it: a line of level warn in the log, an Event of type Warning. */
export function isWarning({ result, audit }: Outcome): boolean {
  return audit || ['Denied', 'Audited', 'Reported'].includes(result);
}

/** The reason of the Event, and the beginning of its note, after which the taints or tolerations follow. */
export function eventOf(outcome: Outcome, what: 'Taint' | 'Toleration'): { reason: EventReason; said: string } {
  return { reason: reasonOf(outcome, what), said: wordingOf(outcome).note };
}

function reasonOf({ change, result, audit }: Outcome, what: 'Taint' | 'Toleration'): EventReason {
  if (change === 'Missing') return result === 'Added' && !audit ? `${what}Added` : `${what}Missing`;
  if (audit) return 'TaintRemoved';
  if (result === 'Denied') return 'TaintRemovalDenied';
  return result === 'Restored' ? 'TaintRestored' : 'TaintRemoved';
}
