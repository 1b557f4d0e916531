import type { StringMap } from '../kubernetes/label-selector.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { formatTaint, parseTaint } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy, Requester } from '../policy/policy-set.ts';
import type { Phase, Violation } from './decision.ts';
import { taintViolation } from './decision.ts';

/** A kubelet, by the API server's rule (`NodeIdentity` of k8s.io/kubernetes/pkg/auth/nodeidentifier). */
export function isNode({ username, groups }: Requester): boolean {
  return username.startsWith('system:node:') && groups.includes('system:nodes');
}

/** What the policies look at in a Node. */
export interface NodeView {
  readonly name: string;
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
  /** The annotation {@link ALLOW_REMOVAL_ANNOTATION}, if there is one. */
  readonly allowRemoval: string | undefined;
  /** The annotation {@link REMEMBERED_ANNOTATION}, if there is one. */
  readonly remembered: string | undefined;
  /** The annotation {@link REMOVED_ANNOTATION}, if there is one. */
  readonly removed?: string | undefined;
  /**
   * How many bytes the values of those two annotations may have together, by what the API server allows all annotations; more than they
   * need counts as what they need. Absent where that is not known. Whoever may write the node can fill it, and no taint must depend on that.
   */
  readonly room?: number;
  /** The annotation {@link RESTORED_ANNOTATION}, if there is one. */
  readonly restored?: string | undefined;
}

/** A Node, and which of its taints are established. */
export interface EstablishedView extends NodeView {
  /** Whether the NodeTaintRecord lists the taint: a pattern protects only those, and restoring one is not an addition. */
  established(this: void, taint: Taint): boolean;
}

/** What mutation makes of a Node: the rest of the object stays as it is. */
export interface DesiredNode {
  readonly taints: readonly Taint[];
  readonly allowRemoval: string | undefined;
  readonly remembered: string | undefined;
  readonly removed: string | undefined;
  readonly restored: string | undefined;
}

export interface NodeUpdate extends Request {
  readonly operation: 'UPDATE';
  readonly oldNode: EstablishedView;
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

/**
 * The annotation on a Node that says which taints the API server put back by itself, or took out, and for which policies: `POLICY
 * key=value:Effect, POLICY -key=value:Effect, …`. It is written where a webhook stands behind it, which tells the requester and takes
 * it out again. Of several policies that are about a taint it names the one that the API server came to first.
 */
export const RESTORED_ANNOTATION = 'taintkeeper.dev/restored';

/** In characters. The newest entries come first; of the last one, what is cut off makes the rest unreadable. */
export const MAX_RESTORED_LENGTH = 8_192;

export const RESTORED_SEPARATOR = ', ';

/** Stands before a taint that was taken out. No key begins with it. */
export const TAKEN_OUT = '-';

/** A taint that was put back or taken out, and the TaintPolicy on whose behalf. */
export interface RestoredTaint {
  readonly policy: string;
  readonly taint: Taint;
  /** Whether it is a guarded addition that was taken out. */
  readonly isAddition: boolean;
}

/** What the annotation says; entries that cannot be read are left out. */
export function parseRestored(annotation: string | undefined): RestoredTaint[] {
  return (annotation ?? '')
    .slice(0, 2 * MAX_RESTORED_LENGTH)
    .split(',')
    .flatMap((entry) => {
      const [policy, text = '', ...rest] = entry.trim().split(' ');
      const isAddition = text.startsWith(TAKEN_OUT);
      const taint = rest.length === 0 ? parseTaint(isAddition ? text.slice(TAKEN_OUT.length) : text) : undefined;
      return policy && taint ? [{ policy, taint: { ...taint, value: taint.value ?? '' }, isAddition }] : [];
    });
}

/** A taint that the API server put back or took out by itself, as a native policy wrote on the node. */
export interface RestoredNatively {
  readonly policy: CompiledTaintPolicy;
  /** The field of the policy that protects or guards it, for example `spec.taints[0]`. */
  readonly field: string;
  readonly taint: Taint;
  readonly isAddition: boolean;
}

/** Of one annotation: native policies write no more, and whoever else does is not to fill the log. */
const MAX_RECORDED = 64;

/**
 * What the annotation tells, `before` being what it told already. Whoever may write the node can write it: an entry counts only for
 * a policy that there is, and that protects such a taint, or guards it.
 */
export function restoredNatively(
  annotation: string | undefined,
  policies: readonly CompiledTaintPolicy[],
  before?: string | undefined,
): RestoredNatively[] {
  const known = new Set(parseRestored(before).map(keyOf));
  const entries = new Map(parseRestored(annotation).map((entry) => [keyOf(entry), entry]));
  return [...entries].slice(0, MAX_RECORDED).flatMap(([key, { policy: name, taint, isAddition }]) => {
    const policy = policies.find((one) => one.name === name && one.mode !== 'Audit');
    if (policy === undefined || known.has(key)) return [];
    const field = isAddition ? policy.additionRestrictedBy(taint) : policy.protectedBy(taint);
    return field === undefined ? [] : [{ policy, field, taint, isAddition }];
  });
}

/** What native policies did to the request before it came here. */
export interface NativeRecord {
  /** Whether they wrote it on the node in this very request. */
  readonly isNew: boolean;
  readonly restored: readonly RestoredNatively[];
}

export const NO_RECORD: NativeRecord = { isNew: false, restored: [] };

export function nativeRecord(
  { node, oldNode }: Pick<NodeUpdate, 'node' | 'oldNode'>,
  policies: readonly CompiledTaintPolicy[],
): NativeRecord {
  const isNew = Boolean(node.restored) && node.restored !== oldNode.restored;
  if (!isNew || !policies.some((policy) => policy.restoresNatively)) return NO_RECORD;
  return { isNew, restored: restoredNatively(node.restored, policies, oldNode.restored) };
}

/** The record of it. */
export function nativeViolation({ policy, field, taint, isAddition }: RestoredNatively): Violation {
  return { ...taintViolation(policy, field, taint, isAddition ? 'reverted' : 'restored'), by: 'native' };
}

function keyOf({ policy, taint, isAddition }: RestoredTaint): string {
  return `${policy} ${isAddition ? TAKEN_OUT : ''}${formatTaint(taint)}`;
}
