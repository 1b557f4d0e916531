import type { StringMap } from './label-selector.ts';
import type { CompiledTaintPolicy } from './policy-set.ts';
import { formatTaint, identity, parseTaint, sameTaint, type Taint } from './taint.ts';

/**
 * The annotation on a Node that says which protected taints it is to carry: those that it had when somebody last looked, without
 * those that went with leave. `key=value:Effect, …`; no `=value` means that the taint has none.
 */
export const REMEMBERED_ANNOTATION = 'taintkeeper.dev/remembered';

/** So many at most: an annotation is read with every copy of the node. */
export const MAX_REMEMBERED = 64;

const SEPARATOR = ', ';

/** The taints of the annotation; what cannot be read is left out. Of one that is named twice, the last value counts. */
export function parseRemembered(annotation: string | undefined): Taint[] {
  const taints = (annotation ?? '').split(',').flatMap((text) => {
    const taint = parseTaint(text.trim());
    return taint ? [{ ...taint, value: taint.value ?? '' }] : [];
  });
  return [...new Map(taints.map((taint) => [identity(taint), taint])).values()];
}

/** What a memory is made from. */
export interface Remembering {
  /** The annotation until now. */
  readonly before: string | undefined;
  /** The taints that the node carries. */
  readonly carried: readonly Taint[];
  /** Taints that went with leave. */
  readonly forgotten?: readonly Taint[];
  readonly protects: (taint: Taint) => boolean;
  /** How long it may get, in bytes: see {@link NodeView.room}. */
  readonly room?: number | undefined;
}

/**
 * The annotation as it is to be; undefined for none. It lists what is protected: the taints that the node carries, and those that
 * were listed before and are gone. A value that is listed stays, whatever the node carries, until it is forgotten. What is there
 * already keeps its place.
 */
export function remember({ before, carried, forgotten = [], protects, room }: Remembering): string | undefined {
  const listed = parseRemembered(before).filter(protects);
  const byIdentity = new Map(listed.map((taint) => [identity(taint), taint]));
  const present = new Map(carried.map((taint) => [identity(taint), taint]));
  for (const key of forgotten.map(identity)) {
    const successor = present.get(key);
    if (successor) byIdentity.set(key, successor);
    else byIdentity.delete(key);
  }
  for (const [key, taint] of present) if (!byIdentity.has(key)) byIdentity.set(key, taint);
  const texts: string[] = [];
  let left = room ?? Number.POSITIVE_INFINITY;
  for (const taint of byIdentity.values()) {
    // Of tens of thousands, most need not be looked at.
    if (texts.length === MAX_REMEMBERED) break;
    if (!protects(taint) || !isLegible(taint)) continue;
    const text = formatTaint(taint);
    left -= text.length + (texts.length === 0 ? 0 : SEPARATOR.length);
    if (left < 0) break;
    texts.push(text);
  }
  return texts.length === 0 ? undefined : texts.join(SEPARATOR);
}

/** Whether it can be read again. Its effect may be too new for that, and its key one that nobody has validated yet. */
function isLegible(taint: Taint): boolean {
  return parseRemembered(formatTaint(taint)).some((read) => sameTaint(read, taint));
}

/** Whether a taint is to be remembered on a node with these labels: a policy protects it that does not only watch. */
export function protectionOn(labels: StringMap, policies: readonly CompiledTaintPolicy[]): (taint: Taint) => boolean {
  const binding = policies.filter((policy) => policy.mode !== 'Audit' && policy.selectsNode(labels));
  return (taint) => binding.some((policy) => policy.protectedBy(taint) !== undefined);
}
