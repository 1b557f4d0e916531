import type { StringMap } from '../kubernetes/label-selector.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy, Requester } from '../policy/policy-set.ts';
import type { Phase } from './decision.ts';

/** What the policies look at in a Node. */
export interface NodeView {
  readonly name: string;
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
  /** The annotation {@link RELEASE_ANNOTATION}, if there is one. */
  readonly release: string | undefined;
  /** The annotation {@link REMEMBERED_ANNOTATION}, if there is one. */
  readonly remembered: string | undefined;
  /** The annotation {@link REMOVED_ANNOTATION}, if there is one. */
  readonly removed?: string | undefined;
  /**
   * How many bytes the values of those two annotations may have together, by what the API server allows all annotations. Absent
   * where that is not known. Whoever may write the node can fill it, and no taint must depend on that.
   */
  readonly room?: number;
  /** The annotation {@link RESTORED_ANNOTATION}, if there is one. */
  readonly restored?: string | undefined;
}

/** What mutation makes of a Node: the rest of the object stays as it is. */
export interface DesiredNode {
  readonly taints: readonly Taint[];
  readonly release: string | undefined;
  readonly remembered: string | undefined;
  readonly removed: string | undefined;
  readonly restored: string | undefined;
}

export interface NodeUpdate extends Request {
  readonly operation: 'UPDATE';
  readonly oldNode: NodeView;
}

export interface NodeCreation extends Request {
  readonly operation: 'CREATE';
  /** What policies want on it because the Node of that name carried it that was deleted; none where nobody knows. */
  readonly owed?: readonly OwedTaint[];
}

/** A taint that a node which comes back is to carry again, by one policy. */
export interface OwedTaint {
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
