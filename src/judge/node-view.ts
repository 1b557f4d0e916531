import { own, type StringMap } from '../kubernetes/label-selector.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy, Requester } from '../policy/policy-set.ts';
import type { Phase } from './decision.ts';
import type { RecordedState } from './node-record.ts';

/** Whether the requester is a kubelet, by the API server's rule (`NodeIdentity` of k8s.io/kubernetes/pkg/auth/nodeidentifier). */
export function isKubelet({ username, groups }: Requester): boolean {
  return username.startsWith('system:node:') && groups.includes('system:nodes');
}

/** The part of a Node that policies read. */
export interface NodeView {
  readonly name: string;
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
  /** The annotation {@link ALLOW_REMOVAL_ANNOTATION}, if there is one. */
  readonly allowRemoval: string | undefined;
}

/** Whether the labels are equal. */
export function sameLabels(
  { labels: one }: Pick<NodeView, 'labels'>,
  { labels: other }: Pick<NodeView, 'labels'>,
): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => own(one, key) === own(other, key));
}

/** A Node with what its NodeTaintRecord says of it: see {@link withRecord}. */
export type NodeWithRecord = NodeView & RecordedState;

/** What mutation makes of a Node: the rest of the object stays as it is. */
export interface DesiredNode {
  readonly taints: readonly Taint[];
  readonly allowRemoval: string | undefined;
}

export interface NodeUpdate extends Request {
  readonly oldNode: NodeWithRecord;
}

export interface NodeCreation extends Request {
  /** The taints that policies retain of the deleted Node of that name. Absent if that is not known. */
  readonly retained?: readonly RetainedTaint[];
}

/** A taint of a deleted Node that one policy sets again on the next Node of that name. */
export interface RetainedTaint {
  readonly policy: CompiledTaintPolicy;
  /** The field of the policy that protects it, for example `spec.taints[0]`. */
  readonly field: string;
  readonly taint: Taint;
}

interface Request {
  readonly phase: Phase;
  readonly requester: Requester;
  readonly node: NodeView;
}
