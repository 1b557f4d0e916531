import { equalTaints, sameTaint, type Taint } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { enforcedPolicies, isProtectedBy } from '../../policy/policy-index.ts';
import {
  ALLOW_REMOVAL_LIFE_MS,
  isRemovalAllowed,
  parseAllowedRemovals,
  rewriteAllowRemoval,
} from '../allow-removal.ts';
import { isStartupTaintOf } from '../declared-taints.ts';
import type { StoredNode } from '../node-view.ts';
import type { StartupStep } from '../startup/startup-step.ts';
import type { WrittenStep } from './memory-after-write.ts';
import type { NodeMemory } from './node-memory.ts';
import { NO_TIMES, type TaintTime, type TaintTimes, timeOf } from './taint-times.ts';
import { allowedByLeader } from './undone-changes.ts';

/** What happens to the entries of the annotation `allow-removal`: see {@link WrittenStep} and {@link NodeMemory}. */
export interface EntryChanges {
  readonly carriedWithEntry: TaintTimes;
  readonly expired: readonly Taint[];
  readonly revoked: readonly Taint[];
  /** The annotation after the step. */
  readonly allowRemoval: string | undefined;
}

export function entryChanges(
  node: StoredNode,
  known: NodeMemory,
  startup: Pick<StartupStep, 'tracked' | 'removable' | 'needEntry'>,
  policies: readonly CompiledTaintPolicy[],
  now: number,
): EntryChanges {
  const carriedWithEntry = taintsWithEntry(node, policies, known.carriedWithEntry, now);
  const expired = carriedWithEntry.filter((one) => entryEndsAt(one, known) <= now).map(({ taint }) => taint);
  const revoked = revokedTaints(node, known, startup.tracked, now);
  return { carriedWithEntry, expired, revoked, allowRemoval: allowRemovalAfter(node, { startup, expired, revoked }) };
}

/** The annotation `allow-removal` after a step. */
export function allowRemovalAfter(
  node: Pick<StoredNode, 'allowRemoval'>,
  {
    startup: { removable, needEntry },
    expired,
    revoked,
  }: Pick<WrittenStep, 'expired' | 'revoked'> & { readonly startup: Pick<StartupStep, 'removable' | 'needEntry'> },
): string | undefined {
  return rewriteAllowRemoval(node.allowRemoval, {
    entriesEnded: [...expired, ...revoked, ...removable.filter(({ endsEntry }) => endsEntry).map(({ taint }) => taint)],
    more: needEntry.map(({ taint }) => taint),
  });
}

/** When the entry of a taint ends that the node carries, in milliseconds of the monotonic clock. */
export function entryEndsAt({ taint, at }: TaintTime, { expired }: Pick<NodeMemory, 'expired'>): number {
  return Math.max(at, timeOf(expired, taint) ?? at) + ALLOW_REMOVAL_LIFE_MS;
}

/**
 * The taints that entries name while the node carries them, and since when the leader has seen that. Where a policy sets a taint with any value, another
 * value counts as well: the entry would keep the taint off for as long as it stands.
 */
function taintsWithEntry(
  { labels, taints, allowRemoval }: StoredNode,
  policies: readonly CompiledTaintPolicy[],
  before: TaintTimes,
  now: number,
): TaintTimes {
  const { entries } = parseAllowedRemovals(allowRemoval);
  if (entries.length === 0) return NO_TIMES;
  const selecting = enforcedPolicies(policies, labels);
  // An entry keeps off a startup taint as well: the leader does not set it late, or again after a reboot.
  const isOfPolicies = (taint: Taint) => isProtectedBy(selecting, taint) || isStartupTaintOf(selecting, taint);
  const alike = selecting.flatMap(({ ensured }) => ensured.filter(({ anyValue }) => anyValue));
  const isCarried = (named: Taint) =>
    alike.some(({ taint }) => sameTaint(taint, named))
      ? taints.some((one) => sameTaint(one, named))
      : taints.some((one) => equalTaints(one, named)) && isOfPolicies(named);
  return entries.flatMap(({ taint }) =>
    taint !== undefined && isCarried(taint) ? { taint, at: timeOf(before, taint) ?? now } : [],
  );
}

/**
 * The taints with an entry that this leader has written to remove them, and does not need any more: a policy has the taint again, or another writer has
 * removed it. With another leader, it ends as that of a user.
 */
function revokedTaints(
  { allowRemoval }: StoredNode,
  memory: NodeMemory,
  tracked: StartupStep['tracked'],
  now: number,
): readonly Taint[] {
  const isNeeded = (taint: Taint) =>
    tracked.some(
      ({ requirement, undeclaredSince }) => undeclaredSince !== undefined && sameTaint(requirement.taint, taint),
    );
  return allowedByLeader(memory, now).filter(
    (taint) => isRemovalAllowed(parseAllowedRemovals(allowRemoval), taint) && !isNeeded(taint),
  );
}
