import type { StringMap } from '../kubernetes/label-selector.ts';
import { formatTaint, identity, parseTaint, sameTaint, type Taint, valuesOf } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy, RequiredTaint } from '../policy/policy-set.ts';

/** A required taint that a policy wants on a node. */
export interface DeclaredTaint extends RequiredTaint {
  readonly policy: CompiledTaintPolicy;
  readonly field: string;
}

/** The required taints that policies want on a node with these labels, in the order of the policies. */
export function requiredTaints(labels: StringMap, policies: readonly CompiledTaintPolicy[]): DeclaredTaint[] {
  return declaredTaints('required', labels, policies);
}

/** The taints that a node with these labels gets when it registers: the required ones, and startup taints. */
export function taintsAtRegistration(labels: StringMap, policies: readonly CompiledTaintPolicy[]): DeclaredTaint[] {
  return declaredTaints('atRegistration', labels, policies);
}

function declaredTaints(
  declaration: 'required' | 'atRegistration',
  labels: StringMap,
  policies: readonly CompiledTaintPolicy[],
): DeclaredTaint[] {
  return policies
    .filter((policy) => policy.selectsNode(labels))
    .flatMap((policy) => policy[declaration].map(({ value, field }): DeclaredTaint => ({ ...value, policy, field })));
}

/** Whether one of the taints, given as {@link valuesOf} gives them, is the wanted one. */
export function satisfies(values: ReadonlyMap<string, string>, { taint, anyValue }: RequiredTaint): boolean {
  const value = values.get(identity(taint));
  return value !== undefined && (anyValue || value === (taint.value ?? ''));
}

/**
 * The annotation on a Node that lists the required taints which somebody removed whom the policy exempts: they are not put back. One
 * stays listed until the node carries it again, or no policy wants it there any more. `key=value:Effect, …`; no `=value` means that
 * the taint had none.
 */
export const REMOVED_ANNOTATION = 'taintkeeper.dev/removed';

/** So many at most: an annotation is read with every copy of the node. */
export const MAX_REMOVED = 64;

/** Of a longer list the rest is not read. Some of what is read may be unreadable. */
const MAX_READ = 2 * MAX_REMOVED;

export const REMOVED_SEPARATOR = ', ';

/** The taints of the annotation, as many as it may have; what cannot be read is left out. */
export function parseRemoved(annotation: string | undefined): Taint[] {
  const taints = (annotation ?? '').split(',', MAX_READ).flatMap((text) => {
    const taint = parseTaint(text.trim());
    return taint ? [{ ...taint, value: taint.value ?? '' }] : [];
  });
  return taints.slice(0, MAX_REMOVED);
}

/** Whether the taint is the required one that the policy means. */
export function isRequiredTaint(taint: Taint, { taint: present, anyValue }: RequiredTaint): boolean {
  return sameTaint(taint, present) && (anyValue || (taint.value ?? '') === (present.value ?? ''));
}

/**
 * Whether the required taint that a node lacks is one of those that were removed with leave. Whoever may write the node can write the
 * annotation, its kubelet included: it counts only for a policy that exempts anybody at all.
 */
export function wasRemoved(removed: readonly Taint[], want: DeclaredTaint): boolean {
  return want.policy.exemptsAnybody && removed.some((taint) => isRequiredTaint(taint, want));
}

/** What a record is made from. */
export interface Removals {
  /** The annotation until now. */
  readonly before: string | undefined;
  /** Taints that go by exemption. */
  readonly gone?: readonly Taint[];
  /** The taints that the node carries. */
  readonly carried: readonly Taint[];
  readonly labels: StringMap;
  /** In whatever mode: one that changes back and forth is not to change the record of every node. */
  readonly policies: readonly CompiledTaintPolicy[];
  /** How long it may get, in bytes: see {@link NodeView.room}. */
  readonly room?: number | undefined;
}

/** What the record leaves of the room for the memory. */
export function roomBeside(removed: string | undefined, room: number | undefined): number | undefined {
  return room === undefined ? undefined : room - (removed?.length ?? 0);
}

/** The annotation as it is to be; undefined for none. What is there already keeps its place. */
export function recordRemovals({ before, gone = [], carried, labels, policies, room }: Removals): string | undefined {
  if (before === undefined && gone.length === 0) return undefined;
  const values = valuesOf(carried);
  const wants = Map.groupBy(requiredTaints(labels, policies), ({ taint }) => identity(taint));
  const isMissing = (taint: Taint) =>
    (wants.get(identity(taint)) ?? []).some((want) => !satisfies(values, want) && wasRemoved([taint], want));
  const listed = [...parseRemoved(before), ...gone].filter(isMissing);
  const texts: string[] = [];
  let left = room ?? Number.POSITIVE_INFINITY;
  for (const text of new Set(listed.map(formatTaint))) {
    left -= text.length + (texts.length === 0 ? 0 : REMOVED_SEPARATOR.length);
    if (texts.length === MAX_REMOVED || left < 0) break;
    texts.push(text);
  }
  return texts.length === 0 ? undefined : texts.join(REMOVED_SEPARATOR);
}

/**
 * The annotation on a Node that announces the removal of protected taints: `key=value:Effect, …`. Without `=value` the
 * entry stands for the taint whatever its value.
 */
export const ALLOW_REMOVAL_ANNOTATION = 'taintkeeper.dev/allow-removal';

/** For how long an announcement stands that nobody uses, in milliseconds. The leader then takes the annotation away. */
export const ALLOW_REMOVAL_LIFE_MS = 86_400_000;

interface AllowedRemoval {
  readonly text: string;
  /** Undefined when the text cannot be read. */
  readonly taint: ReturnType<typeof parseTaint>;
}

/** What a allow-removal annotation says, entry by entry. */
export interface Release {
  readonly entries: readonly AllowedRemoval[];
  /** The readable ones by the identity of their taint. */
  readonly byTaint: ReadonlyMap<string, readonly AllowedRemoval[]>;
}

/** A longer annotation releases nothing: 64 of the longest taints take less. In characters. */
const MAX_ALLOW_REMOVAL_LENGTH = 32_768;

/** Reads a allow-removal annotation; an absent one releases nothing. What cannot be read is kept, and releases nothing. */
export function parseAllowedRemovals(annotation = ''): Release {
  if (annotation.length > MAX_ALLOW_REMOVAL_LENGTH) {
    const entry = { text: `more than ${MAX_ALLOW_REMOVAL_LENGTH} characters`, taint: undefined };
    return { entries: [entry], byTaint: new Map() };
  }
  const texts = annotation.split(',').map((text) => text.trim());
  const entries = texts
    .filter((text) => text !== '')
    .map((text): AllowedRemoval => ({ text, taint: parseTaint(text) }));
  return { entries, byTaint: Map.groupBy(entries, ({ taint }) => (taint ? identity(taint) : '')) };
}

/** True when the release names the taint. */
export function isRemovalAllowed({ byTaint }: Release, taint: Taint): boolean {
  return (byTaint.get(identity(taint)) ?? []).some((entry) => names(entry, taint));
}

/** The annotation's value once the taints have been released, or undefined when nothing is left to say. */
export function consumeAllowedRemovals({ entries, byTaint }: Release, taints: readonly Taint[]): string | undefined {
  const spent = new Set(
    taints.flatMap((taint) => (byTaint.get(identity(taint)) ?? []).filter((entry) => names(entry, taint))),
  );
  const left = entries.filter((entry) => !spent.has(entry));
  return left.length === 0 ? undefined : left.map(({ text }) => text).join(', ');
}

/** The entries that cannot be read, as they were written. */
export function unreadableEntries({ entries }: Release): string[] {
  return entries.filter(({ taint }) => taint === undefined).map(({ text }) => text);
}

/** Whether the entry means this taint, given that key and effect agree. */
function names({ taint: released }: AllowedRemoval, taint: Taint): boolean {
  return released !== undefined && (released.value === undefined || released.value === (taint.value ?? ''));
}
