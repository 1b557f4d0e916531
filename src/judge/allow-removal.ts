import { formatTaint, parseTaint, type Taint, taintIdentity } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy, EnsuredTaint } from '../policy/compiled-taint-policy.ts';
import { isEnforced } from '../policy/enforcement.ts';

/**
 * The annotation of a Node that lists taints as kubectl writes them: `key=value:Effect, …`. While an entry stands, its taint may be removed, and the
 * leader does not set it. The value before a request counts, so one request cannot both allow and remove.
 */
export const ALLOW_REMOVAL_ANNOTATION = 'taintkeeper.dev/allow-removal';

/** How long an entry stands while the node carries its taint, in milliseconds. The leader then deletes the entry. */
export const ALLOW_REMOVAL_LIFE_MS = 3_600_000;

/** One entry of the annotation. */
export interface AllowRemovalEntry {
  readonly text: string;
  /** Undefined when the text cannot be read. */
  readonly taint: Taint | undefined;
}

/** The content of an allow-removal annotation. */
export interface AllowedRemovals {
  readonly entries: readonly AllowRemovalEntry[];
  /** The taints of the readable entries, as {@link formatTaint} writes them. */
  readonly taints: ReadonlySet<string>;
  /** The {@link taintIdentity} of each of these taints, for comparisons with any value. */
  readonly identities: ReadonlySet<string>;
}

/** The most characters of an annotation. A longer one allows nothing: 64 of the longest taints need fewer. */
export const MAX_ALLOW_REMOVAL_LENGTH = 32_768;

/** The most entries. If there are more, only the first 63 are read: the CEL rules read no more of them, and both must decide the same. */
export const MAX_ALLOW_REMOVAL_ENTRIES = 64;

/** The most characters of an entry that a command for users repeats: no taint is longer. */
export const MAX_ENTRY_LENGTH = 400;

const TOO_LONG = ','.repeat(MAX_ALLOW_REMOVAL_LENGTH + 1);

/** An annotation with the same meaning, to keep in memory. All that are too long become the same text, because users can write any length. */
export function boundedAllowRemoval(annotation: string): string {
  return isTooLong(annotation) ? TOO_LONG : annotation;
}

/** Characters count as CEL counts them: by code points. */
function isTooLong(annotation: string): boolean {
  return [...annotation].length > MAX_ALLOW_REMOVAL_LENGTH;
}

const NOTHING: AllowedRemovals = { entries: [], taints: new Set(), identities: new Set() };

/** Reads an allow-removal annotation; an absent one has no entries. An entry that cannot be read is kept, and allows nothing. */
export function parseAllowedRemovals(annotation = ''): AllowedRemovals {
  if (annotation === '') return NOTHING;
  if (isTooLong(annotation)) {
    return { ...NOTHING, entries: [{ text: `more than ${MAX_ALLOW_REMOVAL_LENGTH} characters`, taint: undefined }] };
  }
  const parts = annotation.split(',');
  const read = parts.slice(0, MAX_ALLOW_REMOVAL_ENTRIES - 1);
  const rest = parts.slice(MAX_ALLOW_REMOVAL_ENTRIES - 1);
  const entries = [...read, rest.join(',')]
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map((text): AllowRemovalEntry => ({ text, taint: taintIn(text) }));
  const taints = entries.flatMap(({ taint }) => taint ?? []);
  return { entries, taints: new Set(taints.map(formatTaint)), identities: new Set(taints.map(taintIdentity)) };
}

function taintIn(text: string): Taint | undefined {
  const parsed = parseTaint(text);
  return parsed && { key: parsed.key, ...(parsed.value ? { value: parsed.value } : {}), effect: parsed.effect };
}

/** Whether an entry names the taint, with its value. */
export function isRemovalAllowed({ taints }: Pick<AllowedRemovals, 'taints'>, taint: Taint): boolean {
  return taints.has(formatTaint(taint));
}

/** Whether an entry keeps a required taint off: the entry names it, with any value if the policy names none. */
export function keepsOff(
  { taints, identities }: AllowedRemovals,
  { taint, anyValue }: Pick<EnsuredTaint, 'taint' | 'anyValue'>,
): boolean {
  return anyValue ? identities.has(taintIdentity(taint)) : taints.has(formatTaint(taint));
}

/**
 * The annotation without the entries of some taints, and with entries of others. The same text if nothing changes, and undefined if no entry is left.
 *
 * Adds nothing if the annotation would be too long, or have more than {@link MAX_ALLOW_REMOVAL_ENTRIES} entries: the additions would not be read, nor
 * some or all of the present entries. Without spaces between the entries, it is never longer than before if none is added.
 *
 * @param entriesEnded the taints whose entries end
 * @param more the taints that get an entry
 */
export function rewriteAllowRemoval(
  annotation: string | undefined,
  { entriesEnded, more }: { readonly entriesEnded: readonly Taint[]; readonly more: readonly Taint[] },
): string | undefined {
  const allowed = parseAllowedRemovals(annotation);
  const endedTexts = new Set(entriesEnded.map(formatTaint));
  const kept = allowed.entries.filter(({ taint }) => taint === undefined || !endedTexts.has(formatTaint(taint)));
  const named = more.map(formatTaint).filter((text) => !allowed.taints.has(text));
  // An annotation that is too long allows nothing, so it is replaced.
  const readable = annotation !== undefined && isTooLong(annotation) ? [] : kept.map(({ text }) => text);
  const added = fits([...readable, ...named]) ? named : [];
  if (added.length === 0 && kept.length === allowed.entries.length) return annotation;
  const texts = [...readable, ...added];
  return texts.length === 0 ? undefined : texts.join();
}

function fits(texts: readonly string[]): boolean {
  return texts.length <= MAX_ALLOW_REMOVAL_ENTRIES && !isTooLong(texts.join());
}

/**
 * A value of the annotation for a command that a user runs: the present readable entries, so that the command ends none of them, and the new ones. If
 * these are more than {@link MAX_ALLOW_REMOVAL_ENTRIES}, the last present ones are left out, because not all would be read.
 *
 * @param more the taints that get an entry
 */
export function allowRemovalWith(annotation: string | undefined, more: readonly Taint[]): string {
  const added = new Set(more.map(formatTaint));
  const kept = parseAllowedRemovals(annotation)
    .entries.filter((entry) => isHarmless(entry) && !added.has(entry.text))
    .map(({ text }) => text);
  return [...[...new Set(kept)].slice(0, MAX_ALLOW_REMOVAL_ENTRIES - added.size), ...added].join();
}

/** Users who may patch nodes write the annotation, and another user may paste the command into a shell. */
function isHarmless({ text, taint }: AllowRemovalEntry): boolean {
  return taint !== undefined && text.length <= MAX_ENTRY_LENGTH && /^[\w./=:-]+$/.test(text);
}

/**
 * Whether an update that adds a taint ends the entry for it: the policy protects taints, and does more than report. A policy with
 * `removalByAnnotation: Forbidden` counts too, although its entries allow nothing.
 */
export function endsEntries(policy: CompiledTaintPolicy): boolean {
  return isEnforced(policy) && policy.protectionRules.length > 0;
}

/**
 * Whether the annotation of a Node is deleted when it registers: the policy {@link endsEntries}, or has startup taints that an entry keeps off a node.
 * A policy with `removalByAnnotation: Forbidden` counts too.
 */
export function clearsEntriesAtRegistration(policy: CompiledTaintPolicy): boolean {
  return endsEntries(policy) || (isEnforced(policy) && policy.untilReady.length > 0);
}

/** The entries that cannot be read, as they were written. */
export function unreadableEntries({ entries }: AllowedRemovals): string[] {
  return entries.filter(({ taint }) => taint === undefined).map(({ text }) => text);
}
