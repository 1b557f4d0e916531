import type { StringMap } from '../kubernetes/label-selector.ts';
import { formatTaint, identity, parseTaint, sameTaint, type Taint } from '../kubernetes/taint.ts';
import { policiesFor } from '../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { NodeView } from './node-view.ts';

/**
 * The annotation on a Node that says which protected taints it is to carry: those that it had when somebody last looked, without
 * those that went with leave. `key=value:Effect, …`; no `=value` means that the taint has none.
 */
export const REMEMBERED_ANNOTATION = 'taintkeeper.dev/remembered';

/** So many at most: an annotation is read with every copy of the node. */
export const MAX_REMEMBERED = 64;

const SEPARATOR = ', ';

/**
 * The taints of the annotation, as many as are written: whoever may write the node can make it longer. What cannot be read is left out; of one that is
 * named twice, the last value counts.
 */
export function parseRemembered(annotation: string | undefined): Taint[] {
  const taints = (annotation ?? '').split(',', MAX_REMEMBERED).flatMap((text) => {
    const taint = parseTaint(text.trim());
    return taint ? [{ ...taint, value: taint.value ?? '' }] : [];
  });
  return [...new Map(taints.map((taint) => [identity(taint), taint])).values()];
}

/** A longer annotation is taken to list nothing: {@link MAX_REMEMBERED} of the longest taints take less. In characters. */
const MAX_REMEMBERED_LENGTH = 32_768;

/** Whether the annotation lists the taint: its first entries count as text, as in the expressions of native policies. */
export function rememberedIn(annotation: string | undefined = ''): (taint: Taint) => boolean {
  if (annotation === '' || annotation.length > MAX_REMEMBERED_LENGTH) return () => false;
  const entries = new Set(annotation.split(',', MAX_REMEMBERED).map((one) => one.trim()));
  return (taint) => entries.has(formatTaint(taint));
}

/** Where nothing is known of a node, or it is new. */
export const NONE_ESTABLISHED = (): boolean => false;

/** What a memory is made from. */
export interface Remembering {
  /** The annotation until now. */
  readonly before: string | undefined;
  /** The taints that the node carries. */
  readonly carried: readonly Taint[];
  /** Taints that went with leave. */
  readonly forgotten?: readonly Taint[];
  /** Taints that were let in though a policy guards them. They are listed, protected or not. */
  readonly admitted?: readonly Taint[];
  /** Taints that were not let in. They are not listed, whoever lists them; another value of theirs may be. */
  readonly rejected?: readonly Taint[];
  /** Whether a policy binds the taint: see {@link protectionOn}. */
  readonly protects: (taint: Taint) => boolean;
  /** Whether a taint that is listed and not protected stays listed. Admission forgets none for want of a policy: the leader does, late. */
  readonly keeps?: ((taint: Taint) => boolean) | undefined;
  /** Which of the carried taints are to be listed that are not yet; by default, all that are protected. */
  readonly settles?: (taint: Taint) => boolean;
  /** How long it may get, in bytes: what the record of removals leaves of {@link NodeView.room}. */
  readonly room?: number | undefined;
}

/**
 * The annotation as it is to be; undefined for none. It lists what is protected: the taints that the node carries, and those that
 * were listed before and are gone; and what was listed before and is kept. A value that is listed stays, whatever the node carries,
 * until it is forgotten. What is there already keeps its place. Where there is no room for all, what is protected comes first.
 */
export function remember(remembering: Remembering): string | undefined {
  const { before, carried, forgotten = [], admitted = [], rejected = [], protects, room } = remembering;
  const { keeps = () => true, settles = () => true } = remembering;
  const isRejected = new Set(rejected.map(formatTaint));
  const listed = parseRemembered(before).filter(
    (taint) => (protects(taint) || keeps(taint)) && !isRejected.has(formatTaint(taint)),
  );
  const byIdentity = new Map(listed.map((taint) => [identity(taint), taint]));
  const present = new Map(carried.filter(settles).map((taint) => [identity(taint), taint]));
  for (const key of forgotten.map(identity)) {
    const successor = present.get(key);
    if (successor && protects(successor)) byIdentity.set(key, successor);
    else byIdentity.delete(key);
  }
  for (const taint of admitted) byIdentity.set(identity(taint), taint);
  const kept = new Set(byIdentity.values());
  for (const [key, taint] of present) {
    const known = byIdentity.get(key);
    if (known === undefined || (!protects(known) && protects(taint))) byIdentity.set(key, taint);
  }
  const chosen = new Set<Taint>();
  let left = room ?? Number.POSITIVE_INFINITY;
  for (const isWanted of [protects, (taint: Taint) => kept.has(taint) && !chosen.has(taint)]) {
    for (const taint of byIdentity.values()) {
      // Of tens of thousands, most need not be looked at.
      if (chosen.size === MAX_REMEMBERED) break;
      if (!isWanted(taint) || !isLegible(taint)) continue;
      left -= formatTaint(taint).length + (chosen.size === 0 ? 0 : SEPARATOR.length);
      if (left < 0) break;
      chosen.add(taint);
    }
  }
  const texts = [...byIdentity.values()].filter((taint) => chosen.has(taint)).map(formatTaint);
  return texts.length === 0 ? undefined : texts.join(SEPARATOR);
}

/** Whether it can be read again. Its effect may be too new for that, and its key one that nobody has validated yet. */
export function isLegible(taint: Taint): boolean {
  return parseRemembered(formatTaint(taint)).some((read) => sameTaint(read, taint));
}

/** How the leader forgets what no policy binds any more; admission never does. */
export interface Forgetting {
  /** Whether every policy is known. One that is not may want any taint: nothing is forgotten meanwhile. */
  readonly isComplete: boolean;
  /** Whether it has been so for long enough. */
  readonly isOver: (memory: IdleMemory) => boolean;
}

/** A remembered taint that no policy binds: one that the node carries, and that no policy has in any mode; or one that is gone. */
export interface IdleMemory {
  readonly taint: Taint;
  readonly isCarried: boolean;
}

/** Whether it makes a difference to the policy what the annotations say that a node carried, or was rid of. */
export function readsRecords({ mode, rules, additionRules }: CompiledTaintPolicy): boolean {
  return mode !== 'Audit' && rules.length + additionRules.length > 0;
}

/** Whether a taint is to be remembered on a node with these labels: a policy protects it that does not only watch. */
export function protectionOn(labels: StringMap, policies: readonly CompiledTaintPolicy[]): (taint: Taint) => boolean {
  return holdOn(labels, policies, () => true);
}

/** The same for a node on which these taints are established. */
export function holdOn(
  labels: StringMap,
  policies: readonly CompiledTaintPolicy[],
  established: (taint: Taint) => boolean,
): (taint: Taint) => boolean {
  const binding = policies.filter((policy) => policy.mode !== 'Audit' && policy.selectsNode(labels));
  return (taint) => binding.some((policy) => policy.heldBy(taint, established) !== undefined);
}

/** {@link holdOn} where all of the policies select the node, and many taints are looked at. */
export function holdAmong(
  selecting: readonly CompiledTaintPolicy[],
  established: (taint: Taint) => boolean,
): (taint: Taint) => boolean {
  return (taint) =>
    policiesFor(selecting, taint.key).some(
      (policy) => policy.mode !== 'Audit' && policy.heldBy(taint, established) !== undefined,
    );
}
