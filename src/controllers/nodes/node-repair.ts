import { isConflict, isFinal, isNotFound } from '../../cluster/client/api-error.ts';
import type { ClusterPolicies } from '../../cluster/policies.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { evictingTaints } from '../../evictions/eviction-pace.ts';
import type { NodeDrift } from '../../judge/node-drift.ts';
import { nodeDrift } from '../../judge/node-drift.ts';
import type { RecordedTaint } from '../../judge/node-record.ts';
import type { DesiredNode } from '../../judge/node-view.ts';
import { ALLOW_REMOVAL_LIFE_MS } from '../../judge/removal.ts';
import type { Arrival } from '../../judge/rulings.ts';
import { withoutArrivals } from '../../judge/rulings.ts';
import type { Taint } from '../../kubernetes/taint.ts';
import { identity, valuesOf } from '../../kubernetes/taint.ts';
import { reported } from '../../policy/status-conditions.ts';
import { pause } from '../../runtime/pause.ts';
import { tokenBucket } from '../../runtime/rate-limit.ts';
import { startReconciler } from '../../runtime/work-queue.ts';
import { type Controller, type LeaderContext, startControllerQueue } from '../context.ts';
import { FIELD_MANAGER } from '../managed-objects.ts';
import { type ClusterNode, isNews } from '../sources.ts';
import { trackAnnouncementAges } from './announcement-ages.ts';
import type { EvictionTurns } from './eviction-turns.ts';
import { startEvictions, type Turn } from './evictions.ts';
import { patchOf } from './node-patch.ts';
import { type NodeRecordsContext, startNodeRecords } from './node-records.ts';
import { trackNodeReports } from './node-reports.ts';
import { type StartupProgressContext, startStartupProgress } from './startup-progress.ts';
import { trackTaintArrivals } from './taint-arrivals.ts';
import { trackRefusedRepairs, trackTaintContests } from './taint-contests.ts';

/** All nodes are looked at again, also when nothing is heard of them. */
const SWEEP_MS = 600_000;
/** Nodes that are looked at before others get a turn. */
const SWEEP_SLICE = 200;
const CONCURRENCY = 8;
/** Writes in a burst, and the time for each further one, in milliseconds. */
const WRITES = { burst: 100, refillMs: 10 };
/** Somebody else has written the node: what they wrote is about to come by the watch. */
const CONFLICT_PAUSE_MS = 500;

type NodeEntry = Entry<ClusterNode>;

/** Without the guarded taints that are taken out. */
interface Drift extends NodeDrift {
  readonly arrived: readonly Arrival[];
  /** What its record lists; nothing while the records have not been read. */
  readonly recorded: readonly RecordedTaint[];
}

export type NodeRepairContext = Pick<
  LeaderContext,
  'client' | 'synced' | 'nodes' | 'audit' | 'evictionRate' | 'record' | 'reports' | 'metrics' | 'log' | 'signal'
> &
  NodeRecordsContext &
  StartupProgressContext & {
    readonly policies: Pick<ClusterPolicies, 'snapshot' | 'isComplete' | 'changes'>;
    readonly evictionTurns: EvictionTurns;
  };

/** Keeps nodes as the policies declare them, whoever changed them, and whether or not the webhook saw it. */
export function startNodeRepair(context: NodeRepairContext): Controller {
  const { client, synced, nodes, policies, audit, record, reports, metrics, log, signal } = context;
  const compiled = () => policies.snapshot().compiled;
  const contests = trackTaintContests({ client, onChange: () => changed() });
  const refusals = trackRefusedRepairs(() => changed());
  const arriving = trackTaintArrivals();
  const announcements = trackAnnouncementAges(() => client.now().getTime());
  const nodeReports = trackNodeReports({ contests, record, metrics, log });
  /** Of a node that somebody else had changed, the version that was known: it is of no use to write to that again. */
  const outdated = new Map<string, string>();
  const writes = tokenBucket(WRITES.burst, WRITES.refillMs);

  const queue = startControllerQueue(context, 'node-repair', {
    work: (name) => evictions.look(name, (turn) => look(name, turn)),
    concurrency: CONCURRENCY,
  });
  const evictions = startEvictions({
    ...context,
    turns: context.evictionTurns,
    rate: context.evictionRate,
    onTurn: (name) => queue.add(name),
    onChange: () => changed(),
  });
  // Before the nodes are looked at: what a node is owed is known by then.
  const records = startNodeRecords(
    context,
    (name, inMs) => queue.add(name, inMs),
    () => sweep.trigger(),
    (name) => startup.check(name),
  );
  const startup = startStartupProgress(context, records);
  const sweep = startReconciler({ name: 'node-sweep', reconcile: lookAtAll, log, signal });
  const changed = reports.add({
    problems: () => [...contests.problems(), ...refusals.problems(), ...evictions.problems()],
    conditions: ({ kind, name }) =>
      kind === 'TaintPolicy' ? reported('Evicting', evictions.stateOf(name).condition) : [],
    awaitingEviction: ({ kind, name }) => (kind === 'TaintPolicy' ? evictions.stateOf(name).nodes : 0),
    isContested(name, taint) {
      const entry = nodes.get(name);
      return entry !== undefined && contests.isContested(entry, taint);
    },
  });
  nodes.changes.subscribe((change) => {
    const { name } = change.entry;
    // A heartbeat tells nothing, but that there is something newer than what could not be written to.
    if (!isNews(change) && !outdated.has(name)) return;
    if (isNews(change)) nodeReports.notice(change);
    queue.add(name);
  }, signal);
  policies.changes.subscribe(() => sweep.restart(), signal);

  return {
    async stop() {
      await Promise.all([sweep.stop(), queue.stop(), evictions.stop(), records.stop(), startup.stop()]);
    },
  };

  /** Looking is cheap, and does not wait for what there is to repair. */
  async function lookAtAll(): Promise<number | undefined> {
    await synced;
    await records.tried;
    contests.closeOld();
    let count = 0;
    for (const entry of nodes.entries()) {
      const { losses, desired, arrived, recorded } = driftOf(entry, false);
      if (arrived.length === 0) arriving.accept(entry, compiled().taintPolicies, [], recorded);
      // What was told of it, or stood in its way, may be over.
      const isKnown = nodeReports.has(entry.name) || refusals.has(entry.name);
      const isWrong = losses.length + arrived.length > 0 || desired !== undefined;
      if (isWrong || isKnown) queue.add(entry.name);
      if (++count % SWEEP_SLICE === 0) await new Promise(setImmediate);
      if (signal.aborted) return undefined;
    }
    metrics.swept('node-repair', Date.now());
    return SWEEP_MS;
  }

  async function look(name: string, turn: Turn): Promise<number | undefined> {
    await records.tried;
    const entry = nodes.get(name);
    if (!entry) {
      nodeReports.gone(name);
      outdated.delete(name);
      refusals.over(name);
      evictions.gone(name);
      arriving.gone(name);
      announcements.gone(name);
      return undefined;
    }
    // What is newer comes by the watch, however long that takes.
    if (outdated.get(name) === entry.resourceVersion) return undefined;
    outdated.delete(name);
    const drift = driftOf(entry, turn.granted);
    const { losses, desired, arrived, recorded } = drift;
    arriving.accept(entry, compiled().taintPolicies, arrived, recorded);
    nodeReports.arrived(entry, arrived);
    const paced = losses.filter(({ hindrance }) => hindrance === 'paced');
    evictions.waits(entry, new Set(paced.map(({ policy }) => policy.name)));
    const isOutdated = desired !== undefined && !audit && !(await write(entry, desired, drift, turn));
    // Of a refused eviction nobody knows more before its next turn.
    if (desired !== undefined || paced.length === 0) refusals.over(name);
    for (const loss of losses) if (loss.hindrance === 'contested') await contests.open(entry, loss);
    nodeReports.staying(entry, losses);
    return isOutdated ? CONFLICT_PAUSE_MS : contests.nextLookMs(entry);
  }

  /** While the records have not been read, nothing is known to be missing: it may have been removed with permission. */
  function driftOf(entry: NodeEntry, hasTurn: boolean): Drift {
    const { taintPolicies } = compiled();
    const { name, value } = entry;
    const isContested = (taint: Taint) => contests.isContested(entry, taint);
    const arrived = audit ? [] : arriving.find(entry, taintPolicies, isContested);
    const node = withoutArrivals(value, arrived);
    const recorded = records.recordedOn(entry);
    const { desired = changeInto(value, node), ...drift } =
      recorded === undefined
        ? NO_DRIFT
        : nodeDrift({ ...node, recorded }, taintPolicies, {
            isContested,
            hasTurn,
            isAllowRemovalExpired: announcements.ageOf(entry) >= ALLOW_REMOVAL_LIFE_MS,
            // Only entries of the annotation depend on it.
            isRecordWritten: value.allowRemoval !== undefined && records.isSpread(name),
          });
    return { ...drift, desired, arrived, recorded: recorded ?? [] };
  }

  /** False when the node has changed since it was looked at. */
  async function write(entry: NodeEntry, desired: DesiredNode, drift: Drift, turn: Turn): Promise<boolean> {
    const { arrived } = drift;
    // An entry of the annotation may have to be deleted first: then nothing is restored yet.
    const carried = valuesOf(desired.taints);
    const losses = drift.losses.filter(({ taint, hindrance }) => hindrance ?? carried.has(identity(taint)));
    // Before the write: the watch may show what it did before the API server answers.
    const earlier = [...drift.recorded, ...nodeReports.lostOn(entry.name)];
    while (!writes.take()) {
      await pause(writes.waitMs(), signal);
      signal.throwIfAborted();
    }
    turn.used = evictingTaints(entry.value.taints, desired.taints).length > 0;
    try {
      await client.request('PATCH', `/api/v1/nodes/${entry.name}`, {
        query: { fieldManager: FIELD_MANAGER },
        contentType: 'application/merge-patch+json',
        body: patchOf(entry, desired, client.now()),
      });
    } catch (error) {
      if (isNotFound(error)) return true;
      if (isConflict(error)) {
        outdated.set(entry.name, entry.resourceVersion);
        turn.used = false;
        return false;
      }
      if (isFinal(error)) refusals.refused(entry.name, losses, error.message);
      throw error;
    }
    const repaired = [...losses, ...arrived].filter(({ hindrance }) => hindrance === undefined);
    for (const taint of new Map(repaired.map(({ taint }) => [identity(taint), taint])).values()) {
      contests.repaired(entry, taint);
    }
    nodeReports.written(entry, { ...drift, losses }, arrived, earlier);
    return true;
  }
}

const NO_DRIFT: NodeDrift = { losses: [], removed: [], expired: [], desired: undefined };

/** What it takes to make the node that one; undefined where it is. */
function changeInto(node: ClusterNode, { taints, allowRemoval }: ClusterNode): DesiredNode | undefined {
  return taints === node.taints ? undefined : { taints, allowRemoval };
}
