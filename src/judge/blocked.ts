import { printable, shorten } from '../kubernetes/text.ts';
import type { Loss } from './node-drift.ts';
import { type Blocked, type BlockedBy, MAX_BLOCKED_MESSAGE } from './node-record.ts';

const TEXTS: Record<Exclude<BlockedBy, 'Conflict'>, (loss: Loss) => string> = {
  ModeDoesNotRestore: ({ policy }) => `mode ${policy.mode} does not restore it`,
  WouldEvictPods: () => 'it would evict pods, so it is set only when a node registers: add it by hand',
  OtherValuePresent: () => 'another value of it comes first',
};

/**
 * Why a taint is not restored, in words.
 * @param otherWriter who removed it last, where that is known
 */
export function blockedText(loss: Loss, blockedBy: BlockedBy, otherWriter: string | undefined): string {
  if (blockedBy !== 'Conflict') return TEXTS[blockedBy](loss);
  return `another writer removes it repeatedly${otherWriter === undefined ? '' : `, last by ${otherWriter}`}`;
}

/** What is known of the writes that the leader did not make, or could not make. */
export interface WriteFacts {
  /** Who removed the taint last, for people. Undefined where that is not known. */
  readonly otherWriterOf: (taint: Loss['taint']) => string | undefined;
  /** What the API server said when it refused the update that restores taints. Undefined where it did not. */
  readonly refusal: string | undefined;
}

/** Why the taint of a loss is not restored, for the record of the node. Undefined where nothing is known to prevent it. */
export function whyBlocked(loss: Loss, { otherWriterOf, refusal }: WriteFacts): Blocked | undefined {
  const { blockedBy, taint } = loss;
  if (blockedBy !== undefined) return blocked(blockedBy, blockedText(loss, blockedBy, otherWriterOf(taint)));
  return refusal === undefined ? undefined : blocked('UpdateRefused', refusal);
}

function blocked(reason: string, text: string): Blocked {
  return { reason, message: shorten(printable(text), MAX_BLOCKED_MESSAGE) };
}
