import { identity, parseTaint, type Taint } from '../kubernetes/taint.ts';
import { policiesFor } from '../policy/policy-index.ts';
import type { CompiledTaintPolicy, EnsuredTaint } from '../policy/policy-set.ts';

/**
 * The annotation on a Node that announces the removal of protected taints: `key=value:Effect, …`. Without `=value`, the
 * entry means the taint with any value. A `-` at the end, as kubectl has it, makes the entry a notice: the taint was removed with
 * permission. A notice tells the leader not to restore the taint, and permits nothing.
 */
export const ALLOW_REMOVAL_ANNOTATION = 'taintkeeper.dev/allow-removal';

/** How long an unused announcement stays, in milliseconds. The leader then removes the annotation. */
export const ALLOW_REMOVAL_LIFE_MS = 86_400_000;

type NamedTaint = NonNullable<ReturnType<typeof parseTaint>>;
type NamedTaints = ReadonlyMap<string, readonly NamedTaint[]>;

export interface AllowedRemoval {
  readonly text: string;
  /** Undefined when the text cannot be read. */
  readonly taint: NamedTaint | undefined;
  readonly isNotice: boolean;
}

const NOTICE = '-';

/** What an allow-removal annotation says, entry by entry. */
export interface AllowedRemovals {
  readonly entries: readonly AllowedRemoval[];
  /** The taints of the readable ones that are no notices, by {@link identity}. */
  readonly byTaint: NamedTaints;
  /** Those of the notices. */
  readonly notices: NamedTaints;
  readonly isTooLong?: true;
}

/** A longer annotation allows no removal: 64 of the longest taints are shorter. In characters. */
export const MAX_ALLOW_REMOVAL_LENGTH = 32_768;

const TOO_LONG = ','.repeat(MAX_ALLOW_REMOVAL_LENGTH + 1);

/** An annotation that means the same. All that are too long become one text, of any length that a user writes. */
export function boundedAllowRemoval(annotation: string): string {
  return annotation.length > MAX_ALLOW_REMOVAL_LENGTH ? TOO_LONG : annotation;
}

const NOTHING: AllowedRemovals = { entries: [], byTaint: new Map(), notices: new Map() };

/** Reads an allow-removal annotation; an absent one has no entries. An entry that cannot be read is kept, and allows no removal. */
export function parseAllowedRemovals(annotation = ''): AllowedRemovals {
  if (annotation === '') return NOTHING;
  if (annotation.length > MAX_ALLOW_REMOVAL_LENGTH) {
    const entry = { text: `more than ${MAX_ALLOW_REMOVAL_LENGTH} characters`, taint: undefined, isNotice: false };
    return { entries: [entry], byTaint: new Map(), notices: new Map(), isTooLong: true };
  }
  const texts = annotation.split(',').map((text) => text.trim());
  const entries = texts
    .filter((text) => text !== '')
    .map((text): AllowedRemoval => {
      const isNotice = text.endsWith(NOTICE);
      return { text, taint: parseTaint(isNotice ? text.slice(0, -NOTICE.length) : text), isNotice };
    });
  const notices = entries.filter(({ isNotice }) => isNotice);
  return { entries, byTaint: byIdentity(announcementsIn({ entries })), notices: byIdentity(notices) };
}

function byIdentity(entries: readonly AllowedRemoval[]): NamedTaints {
  return Map.groupBy(
    entries.flatMap(({ taint }) => taint ?? []),
    identity,
  );
}

/** The entries without notices, readable or not. */
export function announcementsIn({ entries }: Pick<AllowedRemovals, 'entries'>): AllowedRemoval[] {
  return entries.filter(({ isNotice }) => !isNotice);
}

/** Whether the removal of the taint is announced. */
export function isRemovalAllowed({ byTaint }: AllowedRemovals, taint: Taint): boolean {
  return (byTaint.get(identity(taint)) ?? []).some((named) => includes(named, taint));
}

/** Whether a notice says that the taint was removed with permission. */
export function isRemovalNoted({ notices }: AllowedRemovals, taint: Taint): boolean {
  return (notices.get(identity(taint)) ?? []).some((named) => includes(named, taint));
}

/** Whether an announcement or a notice names the taint. */
export function isRemovalNamed(allowed: AllowedRemovals, taint: Taint): boolean {
  return isRemovalNoted(allowed, taint) || isRemovalAllowed(allowed, taint);
}

/** The same of a required taint: with any value where any will do. */
export function isRequiredRemovalNamed(
  allowed: AllowedRemovals,
  { taint, anyValue }: Pick<EnsuredTaint, 'taint' | 'anyValue'>,
): boolean {
  if (!anyValue) return isRemovalNamed(allowed, taint);
  return allowed.notices.has(identity(taint)) || allowed.byTaint.has(identity(taint));
}

/**
 * The annotation's value without some of its entries, with some of what it said before, and with a notice for each taint that is removed; undefined
 * when nothing is left to say. One that is too long to be read is written anew.
 */
export function rewriteAllowRemoval(
  { entries, isTooLong }: AllowedRemovals,
  omits: (entry: AllowedRemoval) => boolean,
  more: { readonly kept?: readonly AllowedRemoval[]; readonly removed?: readonly Taint[] } = {},
): string | undefined {
  const { kept = [], removed = [] } = more;
  const left = isTooLong ? [] : entries.filter((entry) => !omits(entry));
  const texts = new Set([...[...left, ...kept].map(({ text }) => text), ...removed.map(noticeOf)]);
  return texts.size === 0 ? undefined : [...texts].join(', ');
}

/** Whether the entry names one of the taints, given by {@link identity}. */
export function namesAny({ taint: allowed }: AllowedRemoval, values: ReadonlyMap<string, string>): boolean {
  if (allowed === undefined) return false;
  const value = values.get(identity(allowed));
  return value !== undefined && (allowed.value === undefined || allowed.value === value);
}

/** The notice of the taint with this value alone. */
function noticeOf({ key, value, effect }: Taint): string {
  return `${key}=${value ?? ''}:${effect}${NOTICE}`;
}

/** Whether the policy reads the annotation: it restricts changes of taints, or requires some. */
export function readsAllowRemoval({ mode, removalRules, additionRules, required }: CompiledTaintPolicy): boolean {
  return mode !== 'Audit' && removalRules.length + additionRules.length + required.length > 0;
}

/** Whether a user may remove taints that the policy protects. If no user may, an entry of the annotation has no effect. */
export function mayBePermitted({ mode, allowsRemovalByAnnotation, exemptsUsers }: CompiledTaintPolicy): boolean {
  return (mode !== 'Audit' && allowsRemovalByAnnotation) || exemptsUsers;
}

/**
 * Whether every user may remove the taint once the annotation names it: each policy that protects it allows removal by annotation. With --audit, it
 * counts what the policies would do without it.
 */
export function isRemovableByAnnotation(
  taint: Taint,
  selecting: readonly CompiledTaintPolicy[],
  established: (taint: Taint) => boolean,
): boolean {
  return policiesFor(selecting, taint.key).every(
    (policy) =>
      policy.declared === 'Audit' ||
      policy.allowsRemovalByAnnotation ||
      policy.removalRestrictedBy(taint, established) === undefined,
  );
}

/** The entries that cannot be read, as they were written. */
export function unreadableEntries({ entries }: AllowedRemovals): string[] {
  return entries.filter(({ taint }) => taint === undefined).map(({ text }) => text);
}

/** Whether an entry that names the one taint means the other, given that key and effect agree. */
function includes({ value }: NamedTaint, taint: Taint): boolean {
  return value === undefined || value === (taint.value ?? '');
}
