import { assessCondition, type StalledReason } from './status-conditions.ts';

/** The effects of a problem on the cluster, the worst first. */
export const HARMS = [
  /** Nodes are without their CNI, or another daemon on which other pods depend. */
  'NodesWithoutDaemons',
  /** The API server cannot call taintkeeper: it refuses requests, or policies are not enforced. */
  'NotReachable',
  /** A policy is not in force. */
  'NotInForce',
  /** Taints or tolerations are missing, and nothing adds them. */
  'Missing',
  /** Another writer removes taints repeatedly. */
  'Conflict',
  /** Something else that a policy declares is not done. */
  'Stalled',
  /** Requests of kubelets and controllers are denied, and they repeat them. After what the leader has seen: a pod can forge reviews. */
  'ComponentsDenied',
  /** A policy only reports it, or the page recommends something. */
  'Reported',
  /** The problem ends without a user. */
  'Repairing',
] as const;
export type Harm = (typeof HARMS)[number];

/**
 * The problems, the worst first. With equal harm, a problem that concerns more objects comes first. Otherwise the order stays. The page, doctor,
 * explain and the status of policies use this order.
 * @param countOf how many objects a problem concerns
 */
export function worstFirst<Problem>(
  problems: readonly Problem[],
  harmOf: (problem: Problem) => Harm,
  countOf: (problem: Problem) => number = () => 0,
): Problem[] {
  return problems.toSorted((a, b) => HARMS.indexOf(harmOf(a)) - HARMS.indexOf(harmOf(b)) || countOf(b) - countOf(a));
}

/** The reasons of `Stalled` with a more specific harm than `Stalled`. No other condition of level `problem` has these reasons. */
const STALLED = {
  // The policy is in force only in part.
  UnknownFields: 'NotInForce',
  RepairRefused: 'Missing',
  RequiredValuesDiffer: 'Missing',
  TolerationMissing: 'Missing',
  WouldEvictPods: 'Missing',
  TaintConflict: 'Conflict',
} as const satisfies Partial<Record<StalledReason, Harm>>;

/** A map, because a status may have a reason such as `constructor`, which is a property of every object. */
const HARM_OF_REASON: ReadonlyMap<string, Harm> = new Map(Object.entries(STALLED));

/** The harm of a condition that is not quiet. */
export function harmOfCondition(condition: Readonly<Record<'type' | 'status' | 'reason', string>>): Harm {
  switch (assessCondition(condition).level) {
    case 'failed':
      return 'NotInForce';
    case 'problem':
      return HARM_OF_REASON.get(condition.reason) ?? 'Stalled';
    case 'attention':
    case 'quiet':
      return 'Reported';
  }
}
