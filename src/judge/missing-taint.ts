import type { Taint } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import type { Harm } from '../policy/reporting/harm.ts';
import type { TaintMode } from '../policy/taint-policy.ts';

/** Why the leader does not set a required taint that a node lacks. */
export type BlockedBy =
  /** All policies that require it only report. */
  | 'ModeDoesNotRestore'
  /** It would evict pods, so it is set only when a node registers. */
  | 'WouldEvictPods'
  /** Policies require different values of it. */
  | 'ValuesDiffer'
  /** The node carries it with another value, which another policy protects, or sets on other nodes. */
  | 'OtherValuePresent'
  /** Another writer removes it repeatedly. */
  | 'Conflict';

/** A missing taint that one policy requires. */
export interface MissingTaint {
  readonly policy: CompiledTaintPolicy;
  /** The field of the policy that requires it, for example `spec.taints[0]`. */
  readonly field: string;
  readonly taint: Taint;
  /** Undefined if {@link NodeDrift.taints} contains the taint. */
  readonly blockedBy: BlockedBy | undefined;
}

/** Why a required taint is not set, in the words of Events, explain and the page. */
const TEXTS: Readonly<Record<BlockedBy, string>> = {
  ModeDoesNotRestore: 'mode Audit does not set it',
  WouldEvictPods: 'it would evict pods, so a node gets it only when it registers',
  OtherValuePresent: 'the node carries another value of it, which another policy protects or sets',
  ValuesDiffer: 'policies require different values of it',
  Conflict: 'another writer removes it repeatedly',
};

/** What a user does so that the node gets the taint. */
type NextStep = 'Wait' | 'SetTaint' | 'ChooseValue' | 'StopWriter';

const STEPS: Readonly<Record<BlockedBy, NextStep>> = {
  ModeDoesNotRestore: 'SetTaint',
  WouldEvictPods: 'SetTaint',
  // Admission allows every change to the value that a policy requires.
  OtherValuePresent: 'SetTaint',
  ValuesDiffer: 'ChooseValue',
  Conflict: 'StopWriter',
};

/** The next step of a user. Explain and the page find their commands by it. */
export function nextStepFor(blockedBy: BlockedBy | undefined): NextStep {
  return blockedBy === undefined ? 'Wait' : STEPS[blockedBy];
}

/** What is known of a missing taint in addition to {@link BlockedBy}. */
export interface MissingTaintDetails {
  /** Whether only --audit keeps the policy that requires it from acting. */
  readonly onTrial?: boolean | undefined;
  /** The client that removed the taint last. */
  readonly otherWriter?: string | undefined;
}

/** Why a required taint is not set, in words. */
export function whyNotSet(
  blockedBy: BlockedBy | undefined,
  { onTrial, otherWriter }: MissingTaintDetails = {},
): string {
  if (blockedBy === undefined) return 'the leader is about to set it';
  if (blockedBy === 'ModeDoesNotRestore' && onTrial) return 'only --audit keeps it from being set';
  const by = blockedBy === 'Conflict' && otherWriter !== undefined ? `, last by ${otherWriter}` : '';
  return `${TEXTS[blockedBy]}${by}`;
}

/**
 * The harm of a required taint that a node lacks.
 * @param blockedBy why it is not set; undefined if it is about to be
 * @param mode in force of the policy that requires it
 */
export function harmOfMissingTaint(blockedBy: BlockedBy | undefined, mode: TaintMode): Harm {
  if (blockedBy === undefined) return 'Repairing';
  if (blockedBy === 'Conflict') return 'Conflict';
  return mode === 'Audit' && blockedBy === 'ModeDoesNotRestore' ? 'Reported' : 'Missing';
}
