import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ClusterPolicies } from '../../cluster/policies/policies.ts';
import { ownUid } from '../../cluster/rights/access-review.ts';
import { type PatchBlockedBy, patchBlockedBy } from '../../judge/patch-blocked-by.ts';
import type { PatchedDaemonSet } from '../../policy/reporting/policy-status.ts';
import type { RecordedEvent } from '../../policy/reporting/recorded-event.ts';
import { createSubject } from '../../runtime/source.ts';
import type { Nodes, SyncState, WatchedDaemonSets, WatchedNodes } from '../cluster-watches.ts';
import { type Controller, type Run, startControllerReconciler } from '../controller.ts';
import type { Rights } from '../optional-rights.ts';
import type { Reports } from '../reports.ts';
import { addedRecord } from './added-record.ts';
import { inspectDaemonSets } from './daemon-set-inspection.ts';
import { daemonSetWriter } from './daemon-set-writer.ts';
import { earlierProblems } from './earlier-problems.ts';
import { type EndedPatch, lastPatch } from './last-patch.ts';
import { type DaemonSetProblem, daemonSetProblems } from './patch-problems.ts';
import { refusedPatches } from './refused-patches.ts';
import { reportedProblems } from './reported-problems.ts';
import { watchRollouts } from './rollout-watch.ts';
import { daemonSetEvents, listMissing, policiesOf, type RunningDaemonSet, titleOf } from './running-daemon-set.ts';

const NAME = 'daemon-set-patching';
/** The status of DaemonSets changes frequently. */
const PAUSE_MS = 1_000;
/** The kubelet first restarts a crashed container after 10 s. */
const STABLE_MS = 10_000;
const STALLED_MS = 600_000;
/** A new leader finds the problems that the earlier leader has reported within this time: a stalled rollout after {@link STALLED_MS}. */
const EARLIER_MS = STALLED_MS + 60_000;

export interface DaemonSetPatchingOptions {
  readonly client: ApiClient;
  /** The namespace of taintkeeper, whose DaemonSets are ignored. */
  readonly namespace: string;
  readonly nodes: Nodes & Pick<WatchedNodes, 'news'> & Pick<SyncState, 'synced' | 'isSynced'>;
  readonly daemonSets: WatchedDaemonSets & Pick<SyncState, 'synced' | 'isSynced'>;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'objects' | 'changes'>;
  readonly rights: Rights;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly reports: Pick<Reports, 'add'>;
}

export interface DaemonSetPatching extends Controller {
  /** The DaemonSets that the TolerationPolicy has patched. */
  patchedBy(policy: string): readonly PatchedDaemonSet[];
}

/** What blocks the patch of each DaemonSet; undefined if nothing does. */
type Blockers = ReadonlyMap<RunningDaemonSet, PatchBlockedBy | undefined>;

/**
 * Appends the tolerations that policies with `existing: Patch` require to existing DaemonSets. It patches one DaemonSet at a time, and only while
 * all DaemonSets that were patched before, by this or an earlier leader, are healthy. A patch without an answer counts as one until it can no longer
 * arrive: it names the version of the DaemonSet, so any other version ends it.
 */
export function startDaemonSetPatching(run: Run, options: DaemonSetPatchingOptions): DaemonSetPatching {
  const { client, namespace, nodes, daemonSets, policies, rights, recordEvent, reports } = options;
  const { signal, metrics, log } = run;
  const compiled = () => policies.snapshot().compiled;
  const record = addedRecord(policies.objects());
  const rollouts = watchRollouts({ stableMs: STABLE_MS, stalledMs: STALLED_MS });
  const writer = daemonSetWriter(client);
  const patch = lastPatch(writer, daemonSets);
  const refusals = refusedPatches();
  /** When the first run began. */
  let began: number | undefined;
  let isAttempted = false;
  /** The uid of our ServiceAccount, once it was read. */
  let installation: { readonly uid: string | undefined } | undefined;
  /** The writers that removed a toleration again, by the uid of the DaemonSet. */
  const otherWriters = new Map<string, string>();

  const changes = createSubject();
  const problems = reportedProblems({
    earlier: earlierProblems(policies.objects()),
    recordEvent,
    log,
    onChange: changes.next,
  });
  reports.add('daemonSets', {
    changes,
    problems: problems.current,
    // A status that was written before would lose the problems that the earlier leader has reported. While something cannot be listed, the status
    // says that, and nothing is attempted.
    conditions: ({ kind }) =>
      kind === 'TolerationPolicy' && !isAttempted && nodes.isSynced() && daemonSets.isSynced() ? 'pending' : [],
  });
  const reconciler = startControllerReconciler(run, NAME, reconcile, {
    pauseMs: PAUSE_MS,
    onEnd() {
      if (isAttempted) return;
      isAttempted = true;
      changes.next();
    },
  });
  for (const source of [nodes.news, daemonSets.changes]) source.subscribe(() => reconciler.trigger(), signal);
  for (const source of [policies.changes, rights.changes]) source.subscribe(() => reconciler.restart(), signal);
  return { patchedBy: record.patchedBy, stop: reconciler.stop };

  async function reconcile(): Promise<number | undefined> {
    await Promise.all([nodes.synced, daemonSets.synced]);
    const settled = await patch.settle();
    if (settled) conclude(settled);
    // The cache is older than the patch. It emits nothing if it cannot read the new version.
    if (patch.state() === 'Written') return PAUSE_MS;

    installation ??= { uid: await ownUid(client) };
    const now = performance.now();
    began ??= now;
    const found = await inspect(now, installation.uid);
    const blockedBy = blockersOf(found, now);
    problems.report(problemsOf(blockedBy), now - began < EARLIER_MS);
    metrics.swept(NAME, Date.now());
    const next = found.find((daemonSet) => blockedBy.get(daemonSet) === undefined);
    if (next) conclude(await patch.send(next));
    return next || patch.state() ? PAUSE_MS : nextCheckMs(found, now);
  }

  async function inspect(now: number, installationUid: string | undefined): Promise<RunningDaemonSet[]> {
    const found = inspectDaemonSets(
      { namespace, nodes, daemonSets, policies: compiled(), record, rollouts },
      { now, apiTime: client.now().getTime() },
      installationUid,
    );
    await findOtherWriters(found.filter(({ isUndone }) => isUndone));
    refusals.retain(found);
    return found;
  }

  /** What blocks the patch of each DaemonSet. */
  function blockersOf(found: readonly RunningDaemonSet[], now: number): Blockers {
    const isRollingOut =
      patch.state() !== undefined || found.some(({ patched, rollout }) => patched && !rollout.stable);
    return new Map(
      found.map((daemonSet) => [
        daemonSet,
        patchBlockedBy(daemonSet, {
          isRefused: refusals.isPaused(daemonSet, now),
          isRollingOut,
          isPermitted: () => rights.permits('patchDaemonSets'),
        }),
      ]),
    );
  }

  function nextCheckMs(found: readonly RunningDaemonSet[], now: number): number | undefined {
    const waits = [...found.map(({ rollout }) => rollout.changesInMs), ...refusals.ends().map((at) => at - now)].filter(
      (ms) => ms > 0 && ms < Number.POSITIVE_INFINITY,
    );
    return waits.length === 0 ? undefined : Math.min(...waits);
  }

  /** Records how a patch ended. */
  function conclude({ daemonSet, outcome }: EndedPatch): void {
    if (outcome === 'changed') return;
    if ('refused' in outcome) {
      refusals.refused(daemonSet, outcome.refused);
      return;
    }
    refusals.patched(daemonSet);
    record.patched(daemonSet, installation?.uid);
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

  function problemsOf(blockedBy: Blockers): DaemonSetProblem[] {
    return daemonSetProblems({
      blockedBy,
      stalledMs: STALLED_MS,
      refusal: refusals.messageOf,
      otherWriter: ({ entry }) => otherWriters.get(entry.uid) ?? '',
      patchingPolicies: ({ entry }) =>
        compiled()
          .tolerationPolicies.filter((policy) => policy.patchesExisting && policy.selectsDaemonSet(entry.value))
          .map(({ name }) => name),
    });
  }
}
