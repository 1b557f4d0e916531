import { type NodeRecord, withRecord } from '../../../src/judge/node-record.ts';
import { nextRecord, type RecordedNode, type RecordKeeping } from '../../../src/judge/record-keeping.ts';
import type { Machine } from '../../../src/kubernetes/machine.ts';
import { formatTaint, type Taint } from '../../../src/kubernetes/taint.ts';
import type { PolicySet } from '../../../src/policy/policy-set.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';
import { recordListing } from './established.ts';

export const HOUR = 3_600_000;
export const START = Date.parse('2026-11-22T12:00:00Z');
export const DEDICATED: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
export const OTHER: Taint = { key: 'example.com/other', effect: 'NoExecute' };
export const FREE: Taint = { key: 'free', effect: 'NoSchedule' };
export const MACHINE = { systemUUID: 'EC2A6B1E-0001', providerID: 'aws:///a/i-1' };

/** A policy that gives `dedicated` back to a node which registers anew. */
export const surviving = (more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
  mode: 'Restore',
  taints: [{ key: 'dedicated', restrict: ['Removal'] }],
  deletedNodeRetentionSeconds: 86_400,
  ...more,
});
export const policies = (more: Partial<TaintPolicySpec> = {}) => policySet({ taint: { p: surviving(more) } });

export interface Node {
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  /** What has stayed on the node for long enough, such as `a=b:NoSchedule, c:NoExecute`. */
  readonly established?: string;
  readonly allowRemoval?: string;
  /** The taints that one update removed as it wrote their entries of the annotation. */
  readonly inOneStep?: readonly Taint[];
  readonly machine?: Machine;
  readonly labelsUnchangedMs?: number;
}

export function nodeOf({
  uid = 'first',
  labels = {},
  taints = [],
  established: stayed,
  allowRemoval,
  inOneStep = [],
  machine = MACHINE,
  labelsUnchangedMs = HOUR,
}: Node): RecordedNode {
  const { established } = withRecord({}, recordListing(stayed, uid), uid);
  const removed = new Set(inOneStep.map(formatTaint));
  const removedInOneStep = (taint: Taint) => removed.has(formatTaint(taint));
  return { name: 'n1', uid, labels, taints, allowRemoval, machine, established, removedInOneStep, labelsUnchangedMs };
}

/** How records are kept at a time: by default, once policies have not changed for long. */
export const at = (
  { taintPolicies }: PolicySet,
  now = START,
  policiesUnchangedMs: number | undefined = HOUR,
): RecordKeeping => ({ policies: taintPolicies, now, policiesUnchangedMs });

export const texts = (taints: readonly Taint[] = []) => taints.map(formatTaint);

/** The record of a node that is deleted at {@link START}. */
export function deleted(set: PolicySet, node: Node = { taints: [DEDICATED, FREE] }): NodeRecord | undefined {
  return nextRecord(nextRecord(undefined, nodeOf(node), at(set)), undefined, at(set));
}
