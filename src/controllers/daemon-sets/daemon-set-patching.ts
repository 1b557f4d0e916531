import { isDeepStrictEqual } from 'node:util';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ClusterPolicies } from '../../cluster/policies/policies.ts';
import { ownUid } from '../../cluster/rights/access-review.ts';
import { compareResourceVersions } from '../../cluster/watch/resource-version.ts';
import { type PatchBlockedBy, patchBlockedBy } from '../../judge/patch-blocked-by.ts';
import type { PatchedDaemonSet } from '../../policy/reporting/policy-status.ts';
import type { RecordedEvent } from '../../policy/reporting/recorded-event.ts';
import { createSubject } from '../../runtime/source.ts';
import type { Nodes, WatchedDaemonSets, WatchedNodes } from '../cluster-watches.ts';
import { type Controller, type Run, startController } from '../controller.ts';
import type { Rights } from '../optional-rights.ts';
import type { ReportedProblem, Reports } from '../reports.ts';
import { daemonSetWriter, type Written } from './daemon-set-writer.ts';
import { earlierProblems } from './earlier-problems.ts';
import { daemonSetProblems } from './patch-problems.ts';
import { daemonSetEvents, listMissing, policiesOf, type RunningDaemonSet, titleOf } from './running-daemon-set.ts';
import { runningDaemonSets } from './running-daemon-sets.ts';

const NAME = 'daemon-set-patching';
/** The status of DaemonSets changes frequently. */
const PAUSE_MS = 1_000;
/** The kubelet first restarts a crashed container after 10 s. */
const STABLE_MS = 10_000;
const STALLED_MS = 600_000;
const REFUSED_PAUSE_MS = 300_000;
/** How long after it was sent a patch can arrive: the client waits 10 s, and an API server ends a request after 60 s (`--request-timeout`). */
const MAY_ARRIVE_MS = 70_000;
/** A new leader finds the problems that the earlier leader has reported within this time: a stalled rollout after {@link STALLED_MS}. */
const EARLIER_MS = STALLED_MS + 60_000;

export interface DaemonSetPatchingOptions {
  readonly client: ApiClient;
  /** The namespace of taintkeeper, whose DaemonSets are ignored. */
  readonly namespace: string;
  readonly nodes: Nodes & Pick<WatchedNodes, 'news'>;
  readonly daemonSets: WatchedDaemonSets;
  /** Resolves when `nodes` and `daemonSets` have all of them. */
  readonly synced: Promise<unknown>;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'objects' | 'changes'>;
  readonly rights: Rights;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly reports: Pick<Reports, 'add'>;
}

export interface DaemonSetPatching extends Controller {
  /** The DaemonSets that the TolerationPolicy has patched. */
  patchedBy(policy: string): readonly PatchedDaemonSet[];
}

interface WrittenPatch {
  readonly state: 'Written';
  readonly daemonSet: RunningDaemonSet;
  readonly resourceVersion: string;
}

/** What blocks the patch of each DaemonSet; undefined if nothing does. */
type Blockers = ReadonlyMap<RunningDaemonSet, PatchBlockedBy | undefined>;

/**
 * Appends the tolerations that policies with `existing: Patch` require to existing DaemonSets. It patches one DaemonSet at a time, and only while
 * all DaemonSets that were patched before, by this or an earlier leader, are healthy. A patch without an answer counts as one until it can no longer
 * arrive: it names the version of the DaemonSet, so any other version ends it.
 */
export function startDaemonSetPatching(run: Run, options: DaemonSetPatchingOptions): DaemonSetPatching {
  const { client, namespace, nodes, daemonSets, synced, policies, rights, recordEvent, reports } = options;
  const { signal, metrics, log } = run;
  const compiled = () => policies.snapshot().compiled;
  const running = runningDaemonSets({
    namespace,
    nodes,
    daemonSets,
    compiled,
    policies: policies.objects,
    stableMs: STABLE_MS,
    stalledMs: STALLED_MS,
  });
  const writer = daemonSetWriter(client);
  let problems: readonly ReportedProblem[] = [];
  const earlier = earlierProblems(policies.objects());
  /** When the first run began. */
  let began: number | undefined;
  let isAttempted = false;
  /** The uid of our ServiceAccount, once it was read. */
  let installation: { readonly uid: string | undefined } | undefined;
  /** The writers that removed a toleration again, by the uid of the DaemonSet. */
  const otherWriters = new Map<string, string>();
  /** Refused patches, by the uid of the DaemonSet. The same patch is tried again at `until`. */
  const refusals = new Map<string, { readonly message: string; readonly added: string; readonly until: number }>();
  /** The last patch: sent until it is known to have arrived, or that it cannot, and then written until the cache has its result. */
  let patch:
    | { readonly state: 'Sent'; readonly daemonSet: RunningDaemonSet; readonly mayArriveUntil: number }
    | WrittenPatch
    | undefined;

  const changes = createSubject();
  reports.add('daemonSets', {
    changes,
    problems: () => problems,
    // A status that was written before would lose the problems that the earlier leader has reported.
    conditions: ({ kind }) => (kind === 'TolerationPolicy' && !isAttempted ? 'pending' : []),
  });
  const reconciler = startController(run, NAME, reconcile, {
    pauseMs: PAUSE_MS,
    onEnd() {
      if (isAttempted) return;
      isAttempted = true;
      changes.next();
    },
  });
  for (const source of [nodes.news, daemonSets.changes]) source.subscribe(() => reconciler.trigger(), signal);
  for (const source of [policies.changes, rights.changes]) source.subscribe(() => reconciler.restart(), signal);
  return { patchedBy: running.patchedBy, stop: reconciler.stop };

  async function reconcile(): Promise<number | undefined> {
    await synced;
    await settlePatch();
    // The cache is older than the patch. It emits nothing if it cannot read the new version.
    if (patch?.state === 'Written') return PAUSE_MS;

    installation ??= { uid: await ownUid(client) };
    const now = performance.now();
    began ??= now;
    const found = await inspect(now, installation.uid);
    const blockedBy = blockersOf(found, now);
    report(blockedBy, now - began < EARLIER_MS);
    metrics.swept(NAME, Date.now());
    const next = found.find((daemonSet) => blockedBy.get(daemonSet) === undefined);
    if (next) await patchNext(next);
    return next || patch ? PAUSE_MS : nextCheckMs(found, now);
  }

  /** Finds out whether the last patch has arrived, and whether the cache has its result. */
  async function settlePatch(): Promise<void> {
    if (patch?.state === 'Sent') {
      const outcome = await writer.outcome(patch.daemonSet);
      if (outcome !== 'unchanged') conclude(patch.daemonSet, outcome);
      else if (performance.now() >= patch.mayArriveUntil) patch = undefined;
    }
    if (patch?.state === 'Written' && !isAwaited(patch)) patch = undefined;
  }

  /** Whether the cache does not have the patch yet. */
  function isAwaited({ daemonSet, resourceVersion }: WrittenPatch): boolean {
    const { name, namespace, uid } = daemonSet.entry;
    const entry = daemonSets.get(name, namespace);
    return (
      entry?.uid === uid &&
      !daemonSets.isUnreadable(name, namespace) &&
      (compareResourceVersions(entry.resourceVersion, resourceVersion) ?? 0) < 0
    );
  }

  async function inspect(now: number, installationUid: string | undefined): Promise<RunningDaemonSet[]> {
    const found = running.inspect({ now, apiTime: client.now().getTime() }, installationUid);
    await findOtherWriters(found.filter(({ isUndone }) => isUndone));
    const missing = new Map(found.map((daemonSet) => [daemonSet.entry.uid, missingIn(daemonSet)]));
    // A refusal delays only the same patch.
    for (const [refused, { added }] of refusals) if (missing.get(refused) !== added) refusals.delete(refused);
    return found;
  }

  /** What blocks the patch of each DaemonSet. */
  function blockersOf(found: readonly RunningDaemonSet[], now: number): Blockers {
    const isRollingOut = patch !== undefined || found.some(({ patched, rollout }) => patched && !rollout.stable);
    return new Map(
      found.map((daemonSet) => [
        daemonSet,
        patchBlockedBy(daemonSet, {
          isRefused: (refusals.get(daemonSet.entry.uid)?.until ?? now) > now,
          isRollingOut,
          isPermitted: () => rights.permits('patchDaemonSets'),
        }),
      ]),
    );
  }

  async function patchNext(daemonSet: RunningDaemonSet): Promise<void> {
    patch = { state: 'Sent', daemonSet, mayArriveUntil: performance.now() + MAY_ARRIVE_MS };
    conclude(daemonSet, await writer.patch(daemonSet));
  }

  function nextCheckMs(found: readonly RunningDaemonSet[], now: number): number | undefined {
    const waits = [
      ...found.map(({ rollout }) => rollout.changesInMs),
      ...Array.from(refusals.values(), ({ until }) => until - now),
    ].filter((ms) => ms > 0 && ms < Number.POSITIVE_INFINITY);
    return waits.length === 0 ? undefined : Math.min(...waits);
  }

  function conclude(daemonSet: RunningDaemonSet, outcome: Written): void {
    const isRefused = typeof outcome === 'object' && 'refused' in outcome;
    if (!isRefused || !outcome.mayArrive) patch = undefined;
    if (outcome === 'changed') return;
    if (isRefused) {
      refusals.set(daemonSet.entry.uid, {
        message: outcome.refused,
        added: missingIn(daemonSet),
        until: performance.now() + REFUSED_PAUSE_MS,
      });
      return;
    }
    refusals.delete(daemonSet.entry.uid);
    patch = { state: 'Written', daemonSet, resourceVersion: outcome.resourceVersion };
    running.recordPatched(daemonSet, installation?.uid);
    const policies = policiesOf(daemonSet);
    for (const policy of policies) metrics.repaired('DaemonSet', policy);
    log.info({ policies }, `${titleOf(daemonSet)}: added toleration ${listMissing(daemonSet)}; its pods are replaced`);
    const wording = { type: 'Normal', reason: 'TolerationAdded', action: 'AddToleration' } as const;
    const note = (policy: string) => `added toleration ${listMissing(daemonSet, policy)} while it ran`;
    for (const event of daemonSetEvents(daemonSet, policies, wording, note)) recordEvent(event);
  }

  async function findOtherWriters(undone: readonly RunningDaemonSet[]): Promise<void> {
    const uids = new Set(undone.map(({ entry }) => entry.uid));
    for (const uid of otherWriters.keys()) if (!uids.has(uid)) otherWriters.delete(uid);
    for (const daemonSet of undone) {
      const { uid } = daemonSet.entry;
      if (!otherWriters.has(uid)) otherWriters.set(uid, await writer.otherWriter(daemonSet));
    }
  }

  /** @param mayRepeat whether the earlier leader may have reported a problem */
  function report(blockedBy: Blockers, mayRepeat: boolean): void {
    const next = daemonSetProblems({
      blockedBy,
      stalledMs: STALLED_MS,
      refusal: ({ entry }) => refusals.get(entry.uid)?.message,
      otherWriter: ({ entry }) => otherWriters.get(entry.uid) ?? '',
      patchedBy: ({ entry }) =>
        compiled()
          .tolerationPolicies.filter((policy) => policy.patchesExisting && policy.selectsDaemonSet(entry.value))
          .map(({ name }) => name),
    });
    const before = new Set(problems.map(textOf));
    const after = next.map(({ kind, policy, reason, message }): ReportedProblem => ({ kind, policy, reason, message }));
    if (isDeepStrictEqual(problems, after)) return;
    problems = after;
    for (const problem of next) {
      if (before.has(textOf(problem))) continue;
      log.warn(textOf(problem));
      // Each process has its own log, but Events stay.
      if (mayRepeat && earlier.take(problem)) continue;
      const { daemonSet, policy, reason, note } = problem;
      const wording = { type: 'Warning', reason, action: 'LeaveAlone' } as const;
      for (const event of daemonSetEvents(daemonSet, [policy], wording, () => note)) recordEvent(event);
    }
    changes.next();
  }
}

/** The tolerations that a patch adds, for comparison. */
function missingIn({ missing }: RunningDaemonSet): string {
  return JSON.stringify(missing.map(({ subject }) => subject));
}

function textOf({ kind, policy, message }: ReportedProblem): string {
  return `${kind} ${policy}: ${message}`;
}
