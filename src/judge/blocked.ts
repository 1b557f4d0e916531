import type { BlockedBy, Loss } from './node-drift.ts';

const TEXTS: Record<Exclude<BlockedBy, 'Conflict'>, (loss: Loss) => string> = {
  ModeDoesNotRestore: ({ policy }) => `mode ${policy.mode} does not set it`,
  WouldEvictPods: () => 'it would evict pods, so a node gets it only when it registers',
  OtherValuePresent: () => 'the node carries another value of it, which another policy protects',
  ValuesDiffer: () => 'policies require different values of it',
};

/**
 * Why a required taint is not set, in words.
 * @param otherWriter who removed it last, where that is known
 */
export function blockedText(loss: Loss, blockedBy: BlockedBy, otherWriter: string | undefined): string {
  if (blockedBy !== 'Conflict') return TEXTS[blockedBy](loss);
  return `another writer removes it repeatedly${otherWriter === undefined ? '' : `, last by ${otherWriter}`}`;
}
