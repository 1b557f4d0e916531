import type { Violation } from './decision.ts';
import { parseRestored } from './native/restored-annotation.ts';
import type { NodeUpdate } from './node.ts';
import type { CompiledTaintPolicy } from './policy-set.ts';
import { formatTaint, type Taint } from './taint.ts';
import { taintViolation } from './taint-violation.ts';

/** A taint that the API server put back by itself, as a native policy wrote on the node. */
export interface RestoredNatively {
  readonly policy: CompiledTaintPolicy;
  /** The field of the policy that protects it, for example `spec.taints[0]`. */
  readonly field: string;
  readonly taint: Taint;
}

/** Of one annotation: native policies write no more, and whoever else does is not to fill the log. */
const MAX_RECORDED = 64;

/**
 * What the annotation tells, `before` being what it told already. Whoever may write the node can write it: an entry counts only for
 * a policy that there is, and that protects such a taint.
 */
export function restoredNatively(
  annotation: string | undefined,
  policies: readonly CompiledTaintPolicy[],
  before?: string | undefined,
): RestoredNatively[] {
  const known = new Set(parseRestored(before).map(keyOf));
  const entries = new Map(parseRestored(annotation).map((entry) => [keyOf(entry), entry]));
  return [...entries].slice(0, MAX_RECORDED).flatMap(([key, { policy: name, taint }]) => {
    const policy = policies.find((one) => one.name === name && one.mode !== 'Audit');
    const field = known.has(key) ? undefined : policy?.protectedBy(taint);
    return policy === undefined || field === undefined ? [] : [{ policy, field, taint }];
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
export function nativeViolation({ policy, field, taint }: RestoredNatively): Violation {
  return { ...taintViolation(policy, field, taint, 'restored'), by: 'native' };
}

function keyOf({ policy, taint }: { readonly policy: string; readonly taint: Taint }): string {
  return `${policy} ${formatTaint(taint)}`;
}
