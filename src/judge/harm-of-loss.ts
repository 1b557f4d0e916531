import type { Harm } from '../policy/harm.ts';
import type { TaintMode } from '../policy/taint-policy.ts';
import type { BlockedBy } from './node-drift.ts';

/**
 * The harm of a required taint that a node lacks.
 * @param blockedBy why it is not set; undefined if it is about to be
 * @param mode in force of the policy that requires it
 */
export function harmOfLoss(blockedBy: BlockedBy | undefined, mode: TaintMode): Harm {
  if (blockedBy === undefined) return 'Repairing';
  if (blockedBy === 'Conflict') return 'Conflict';
  return mode === 'Audit' && blockedBy === 'ModeDoesNotRestore' ? 'Reported' : 'Missing';
}
