import { formatTaint, parseTaint, type Taint } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { taintViolation, type Violation } from './decision.ts';
import type { NodeUpdate } from './node-view.ts';

/**
 * The annotation on a Node that says which taints the API server put back by itself, and for which policies: `POLICY
 * key=value:Effect, …`. It is written where a webhook stands behind it, which tells the requester and takes it out again. Of several
 * policies that protect a taint it names the one that the API server came to first.
 */
export const RESTORED_ANNOTATION = 'taintkeeper.dev/restored';

/** In characters. The newest entries come first; of the last one, what is cut off makes the rest unreadable. */
export const MAX_RESTORED_LENGTH = 8_192;

export const RESTORED_SEPARATOR = ', ';

/** A taint that was put back, and the TaintPolicy on whose behalf. */
export interface RestoredTaint {
  readonly policy: string;
  readonly taint: Taint;
}

/** What the annotation says; entries that cannot be read are left out. */
export function parseRestored(annotation: string | undefined): RestoredTaint[] {
  return (annotation ?? '').split(',').flatMap((entry) => {
    const [policy, text, ...rest] = entry.trim().split(' ');
    const taint = text !== undefined && rest.length === 0 ? parseTaint(text) : undefined;
    return policy && taint ? [{ policy, taint: { ...taint, value: taint.value ?? '' } }] : [];
  });
}

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
