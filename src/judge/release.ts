import { identity, parseTaint, type Taint } from '../kubernetes/taint.ts';

/**
 * The annotation on a Node that announces the removal of protected taints: `key=value:Effect, …`. Without `=value` the
 * entry stands for the taint whatever its value.
 */
export const RELEASE_ANNOTATION = 'taintkeeper.dev/release';

interface ReleaseEntry {
  readonly text: string;
  /** Undefined when the text cannot be read. */
  readonly taint: ReturnType<typeof parseTaint>;
}

/** What a release annotation says, entry by entry. */
export interface Release {
  readonly entries: readonly ReleaseEntry[];
  /** The readable ones by the identity of their taint. */
  readonly byTaint: ReadonlyMap<string, readonly ReleaseEntry[]>;
}

/** Reads a release annotation; an absent one releases nothing. What cannot be read is kept, and releases nothing. */
export function parseRelease(annotation: string | undefined): Release {
  const texts = (annotation ?? '').split(',').map((text) => text.trim());
  const entries = texts.filter((text) => text !== '').map((text): ReleaseEntry => ({ text, taint: parseTaint(text) }));
  return { entries, byTaint: Map.groupBy(entries, ({ taint }) => (taint ? identity(taint) : '')) };
}

/** True when the release names the taint. */
export function isReleased({ byTaint }: Release, taint: Taint): boolean {
  return (byTaint.get(identity(taint)) ?? []).some((entry) => names(entry, taint));
}

/** The annotation's value once the taints have been released, or undefined when nothing is left to say. */
export function consumeRelease({ entries, byTaint }: Release, taints: readonly Taint[]): string | undefined {
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
function names({ taint: released }: ReleaseEntry, taint: Taint): boolean {
  return released !== undefined && (released.value === undefined || released.value === (taint.value ?? ''));
}
