import { setImmediate } from 'node:timers/promises';
import type { ClusterState } from '../controllers/cluster-state.ts';
import { VERSION } from '../version.ts';
import { coverageMatrix } from './coverage-matrix.ts';
import type { DecisionLog } from './decision-log.ts';
import { etagOf } from './etag.ts';
import { nodeMap } from './node-map.ts';
import type { LeaderSources, PageSources } from './page-sources.ts';
import { pageProblems } from './problems.ts';
import type { PageState } from './state.ts';
import type { LeaderView, ReplicaView } from './state-views.ts';

/** The state, serialized. */
export interface StateText {
  readonly etag: string;
  /** JSON of a {@link PageState}. */
  readonly body: string;
}

/** The maximum age of the state, in milliseconds. */
const MAX_AGE_MS = 500;

/** The minimum time between two evaluations of all nodes, in milliseconds: 5,000 nodes take a tenth of a second. */
const SNAPSHOT_PAUSE_MS = 2_000;
/** Longer evaluations become rarer, so that they take a fifth of the time at most. */
const USUAL_EVALUATION_MS = 500;

export interface StateFeed {
  /** The present state, or one of a moment ago. */
  current(): Promise<StateText>;
}

export interface StateFeedOptions {
  /** See {@link PageState.build}. */
  readonly build: string;
  readonly maxAgeMs?: number;
  readonly pauseMs?: number;
  /** The denied requests of components in the last hour. */
  readonly denials?: DecisionLog['denials'];
}

/** The state is computed on request, and requests share it. */
export function createStateFeed(
  sources: PageSources,
  { build, maxAgeMs = MAX_AGE_MS, pauseMs = SNAPSHOT_PAUSE_MS, denials = () => [] }: StateFeedOptions,
): StateFeed {
  let latest: StateText | undefined;
  let computedAt = Number.NEGATIVE_INFINITY;
  let computing: Promise<StateText> | undefined;
  const readCluster = clusterReader(pauseMs);

  return {
    current() {
      if (latest && performance.now() - computedAt < maxAgeMs) return Promise.resolve(latest);
      computing ??= compute().finally(() => {
        computing = undefined;
      });
      return computing;
    },
  };

  async function compute(): Promise<StateText> {
    const leaderView = await readCluster(sources.cluster());
    const certificate = sources.certificate();
    const rest = {
      version: VERSION,
      replica: sources.replica,
      mode: sources.mode,
      leader: sources.leader(),
      audit: sources.audit,
      checks: sources.checks(),
      ...(certificate ? { certificate } : {}),
      webhooks: sources.webhooks(),
      policies: sources.policies(),
    } satisfies ReplicaView;
    const now = sources.now();
    const problems = pageProblems(rest, leaderView, denials(now.getTime()));
    const text = appendMembers(JSON.stringify({ ...rest, build, problems }), leaderView?.members);
    const etag = etagOf(text);
    if (etag !== latest?.etag) latest = { etag, body: appendMembers(text, `"at":${JSON.stringify(now)}`) };
    computedAt = performance.now();
    return latest;
  }
}

/**
 * Adds members to the text of a JSON object. The nodes are serialized once for each evaluation, because they are megabytes in a large cluster, and the
 * rest is serialized each time.
 * @param members of a JSON object, without its braces
 */
function appendMembers(object: string, members: string | undefined): string {
  return members === undefined ? object : `${object.slice(0, -1)},${members}}`;
}

/** The evaluation of all nodes. */
interface Evaluated extends LeaderView {
  /** `nodes` and `coverage` of a {@link PageState}, for {@link appendMembers}. */
  readonly members: string;
}

/** Caches the evaluation of all nodes until something has changed and a while has passed. */
function clusterReader(pauseMs: number): (cluster: LeaderSources | undefined) => Promise<Evaluated | undefined> {
  // When the leader stops leading, its nodes are removed from memory at once.
  const evaluations = new WeakMap<ClusterState, Evaluated & { readonly revision: number; readonly due: number }>();
  return async (cluster) => {
    if (!cluster?.clusterState.isSynced()) return undefined;
    const { clusterState, compiled } = cluster;
    const revision = clusterState.revision();
    const last = evaluations.get(clusterState);
    if (last && (last.revision === revision || performance.now() < last.due)) return last;
    const begun = performance.now();
    const nodes = clusterState.nodes();
    const isInConflict: Parameters<typeof nodeMap>[0]['isInConflict'] = (node, taint) =>
      clusterState.isInConflict(node.name, taint);
    const evaluatedNodes = await nodeMap({
      nodes,
      compiled: compiled.taintPolicies,
      isInConflict,
      startupOn: clusterState.startupOn,
    });
    const nodesText = JSON.stringify(evaluatedNodes.shown);
    await setImmediate();
    const coverage = await coverageMatrix(clusterState.daemonSets(), nodes, compiled);
    const coverageText = JSON.stringify(coverage.shown);
    await setImmediate();
    const members = `"nodes":${nodesText},"coverage":${coverageText}`;
    const unready = nodes.filter(({ ready }) => !ready).length;
    const now = performance.now();
    const due = now + pauseMs * Math.max(1, (now - begun) / USUAL_EVALUATION_MS);
    const evaluated = { revision, due, members, nodes: evaluatedNodes, coverage, unready };
    evaluations.set(clusterState, evaluated);
    return evaluated;
  };
}
