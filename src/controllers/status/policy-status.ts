import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { ApiError, isOutdated } from '../../cluster/client/api-error.ts';
import type { NodeRecords } from '../../cluster/node-records.ts';
import { type ClusterPolicies, POLICY_GROUP, POLICY_RESOURCES, type PolicyObject } from '../../cluster/policies.ts';
import { contradictions, contradictionText, type Disagreement, VALUES_DIFFER } from '../../judge/contradictions.ts';
import { daemonSetFindings, idleNotes, nodeFindings, podFindings, type StuckPod } from '../../judge/findings.ts';
import { keysOf, misspelledKeys, type NodeKeys } from '../../judge/misspelled-keys.ts';
import { withRecord } from '../../judge/node-record.ts';
import type { NodeWithRecord } from '../../judge/node-view.ts';
import { patternNotes } from '../../judge/pattern-notes.ts';
import { modeOf } from '../../policy/policy.ts';
import { selectingPolicies } from '../../policy/policy-index.ts';
import type { CompiledTaintPolicy, PolicySet } from '../../policy/policy-set.ts';
import type { PatchedDaemonSet, PolicyFindings, PolicyStatus } from '../../policy/policy-status.ts';
import { nextPolicyStatus } from '../../policy/policy-status.ts';
import { orAborted } from '../../runtime/pause.ts';
import type { ClusterMetrics } from '../../server/cluster-metrics.ts';
import { type Controller, type Run, startController } from '../controller.ts';
import { type ReportedProblem, type Reports, stalledCondition } from '../reports.ts';
import type { WatchedDaemonSets, WatchedNodes } from '../sources.ts';
import type { Evaluation } from './cluster-reports.ts';

export interface PolicyStatusOptions {
  readonly client: ApiClient;
  /** The namespace of taintkeeper, whose DaemonSets are never sent to it. */
  readonly namespace: string;
  readonly nodes: Pick<WatchedNodes, 'entries' | 'news'>;
  readonly daemonSets: Pick<WatchedDaemonSets, 'entries' | 'changes'>;
  /** Resolves when `nodes` and `daemonSets` have all of them. */
  readonly synced: Promise<unknown>;
  readonly nodeRecords: Pick<NodeRecords, 'recordOf' | 'changes'>;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'objects' | 'statusChanges'>;
  /** Every policy is taken to be in mode Audit. */
  readonly audit: boolean;
  readonly reports: Omit<Reports, 'add'>;
  /** How many nodes still lack a taint of the TaintPolicy that evicts pods, those among them whose turn it is. */
  readonly awaitingEviction: (policy: string) => number;
  /** The DaemonSets that the TolerationPolicy has patched. */
  readonly patchedBy: (policy: string) => readonly PatchedDaemonSet[];
  /** The daemon pods that are Failed on a node where they could run, however short the time. */
  readonly stuckPods: () => readonly StuckPod[];
  /** Called at the end of each run with what it has found. */
  readonly onEvaluated: ((evaluation: Evaluation) => void) | undefined;
}

/** A status that could not be written because the policy changed meanwhile is looked at again after this time. */
const CONFLICT_PAUSE_MS = 1_000;
const LOOK_AGAIN_MS = 60_000;
/** Least time between two looks at all nodes and DaemonSets, in milliseconds. */
const PAUSE_MS = 5_000;
/** Nodes that are looked at before others get a turn. */
const SLICE = 1_000;

/** Writes the policies' status whenever something that it shows has changed. */
export function startPolicyStatus(run: Run, options: PolicyStatusOptions): Controller {
  const { nodes, daemonSets, synced, nodeRecords, policies, reports } = options;
  const { signal, metrics } = run;
  const write = policyStatus(options, metrics);
  const known = () => orAborted(Promise.all([synced, reports.ready()]), signal);
  const reconciler = startController(run, 'policy-status', () => known().then(write), { pauseMs: PAUSE_MS });
  // A new policy changes what is registered for it, which the controllers report.
  reports.changes.subscribe(() => reconciler.restart(), signal);
  for (const source of [nodes.news, nodeRecords.changes, daemonSets.changes, policies.statusChanges]) {
    source.subscribe(() => reconciler.trigger(), signal);
  }
  return reconciler;
}

/**
 * One run that writes the status of every policy whose status is no longer right. Gives the time until the next look, in
 * milliseconds.
 */
export function policyStatus(
  options: PolicyStatusOptions,
  metrics: Pick<ClusterMetrics, 'violating' | 'awaitingEviction' | 'stalled'>,
): () => Promise<number> {
  const { client, namespace, nodes, daemonSets, nodeRecords, policies, audit } = options;
  const { reports, awaitingEviction, patchedBy, stuckPods, onEvaluated } = options;
  /** Of each policy all violators, by its uid; the status names only the first few. */
  let violators: ReadonlyMap<string, readonly string[]> = new Map();

  return async () => {
    const nodeViews = Array.from(nodes.entries(), ({ name, uid, value }) =>
      withRecord(value, nodeRecords.recordOf(name), uid),
    );
    const daemonSetViews = Array.from(daemonSets.entries(), ({ value }) => value).filter(
      (daemonSet) => daemonSet.namespace !== namespace,
    );
    const { taintPolicies, tolerationPolicies, tolerationRestrictions, recoveryPolicies } =
      policies.snapshot().compiled;
    const byName = new Map(
      [...taintPolicies, ...tolerationPolicies, ...tolerationRestrictions, ...recoveryPolicies].map((one) => [
        `${one.kind}/${one.name}`,
        one,
      ]),
    );
    const selected = await nodesByPolicy(taintPolicies, nodeViews);
    const pods = stuckPods();
    const evaluated: Evaluation['policies'][number][] = [];
    const keys = keysOf(nodeViews);
    const stalled = [
      ...reports.problems(),
      ...taintPolicies.flatMap((policy) => misspelled(policy, keys)),
      ...contradictions(taintPolicies, nodeViews).flatMap(contradicting),
    ];
    metrics.stalled(stalled);
    const found = new Map<string, readonly string[]>();
    const counts: Parameters<ClusterMetrics['violating']>[0][number][] = [];
    const awaiting: Parameters<ClusterMetrics['awaitingEviction']>[0][number][] = [];
    let conflicts = 0;
    const faults: unknown[] = [];
    for (const policy of policies.objects()) {
      // Many policies and many nodes take their time, and admissions do not wait.
      await setImmediate();
      const conditions = reports.conditions(policy);
      if (conditions === 'pending') continue;
      const before = policy.status as PolicyStatus | undefined;
      const own = byName.get(`${policy.kind}/${policy.name}`);
      const findings = own && findingsOf(own, violators.get(policy.uid) ?? before?.violators ?? []);
      const count = policy.kind === 'TaintPolicy' ? awaitingEviction(policy.name) : 0;
      if (count > 0) awaiting.push({ policy: policy.name, count });
      found.set(policy.uid, findings?.violators ?? []);
      if (policy.kind !== 'TolerationRestriction')
        counts.push({ kind: policy.kind, policy: policy.name, count: findings?.violators.length ?? 0 });
      const after = nextPolicyStatus({
        kind: policy.kind,
        before,
        generation: policy.generation,
        problems: policy.result.ok ? [] : policy.result.problems,
        inForce: policy.inForce,
        mode: policy.inForce && (audit ? 'Audit' : modeOf(policy.inForce.policy)),
        audit,
        notes: policy.result.ok ? [...patternNotes(policy.result.policy), ...idle(own)] : [],
        reported: [
          ...conditions,
          ...stalled
            .filter(({ kind, policy: name }) => kind === policy.kind && name === policy.name)
            .flatMap(stalledCondition),
        ],
        patched: policy.kind === 'TolerationPolicy' ? patchedBy(policy.name) : [],
        findings,
        now: new Date(),
      });
      evaluated.push({ policy, own, status: after, violators: findings?.violators ?? [] });
      try {
        if (!isDeepStrictEqual(before, after) && !(await write(policy, after))) conflicts++;
      } catch (error) {
        // One that the API server does not take keeps back none of the others.
        if (!(error instanceof ApiError)) throw error;
        faults.push(error);
      }
    }
    violators = found;
    metrics.violating(counts);
    metrics.awaitingEviction(awaiting);
    onEvaluated?.({ selected, daemonSets: daemonSetViews, pods, policies: evaluated });
    if (faults.length > 0) throw faults[0];
    return conflicts > 0 ? CONFLICT_PAUSE_MS : LOOK_AGAIN_MS;

    function idle(own: Compiled | undefined): string[] {
      return own?.kind === 'TaintPolicy' ? idleNotes(own, selected.get(own) ?? [], nodeViews.length) : [];
    }

    function findingsOf(own: Compiled, known: readonly string[]): PolicyFindings | undefined {
      switch (own.kind) {
        case 'TaintPolicy':
          return nodeFindings(own, selected.get(own) ?? [], known);
        case 'TolerationPolicy':
          return daemonSetFindings(own, daemonSetViews, known);
        case 'TolerationRestriction':
          return undefined;
        case 'RecoveryPolicy':
          return podFindings(own, daemonSetViews, pods, known);
      }
    }
  };

  /** False when the policy has changed or gone since. */
  async function write({ kind, name, uid, resourceVersion }: PolicyObject, status: PolicyStatus): Promise<boolean> {
    try {
      await client.request('PATCH', `${POLICY_GROUP}/${POLICY_RESOURCES[kind]}/${name}/status`, {
        contentType: 'application/json-patch+json',
        body: [
          // Not onto another policy of the same name, nor over what another leader has written.
          { op: 'replace', path: '/metadata/uid', value: uid },
          { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion },
          // Whole: a merge would keep fields of an earlier spec.
          { op: 'add', path: '/status', value: status },
        ],
      });
      return true;
    } catch (error) {
      if (isOutdated(error)) return false;
      throw error;
    }
  }
}

type Compiled = PolicySet[keyof PolicySet][number];

/** The nodes that each policy selects. */
async function nodesByPolicy(
  policies: readonly CompiledTaintPolicy[],
  nodes: readonly NodeWithRecord[],
): Promise<ReadonlyMap<CompiledTaintPolicy, readonly NodeWithRecord[]>> {
  const selected = new Map(policies.map((policy): [CompiledTaintPolicy, NodeWithRecord[]] => [policy, []]));
  for (const [index, node] of nodes.entries()) {
    if (index % SLICE === 0) await setImmediate();
    for (const policy of selectingPolicies(policies, node.labels)) selected.get(policy)?.push(node);
  }
  return selected;
}

/** On both policies: neither of them is where the mistake is for certain. */
function contradicting(contradiction: Disagreement): ReportedProblem[] {
  const message = contradictionText(contradiction);
  return [contradiction.first, contradiction.second].map(({ policy: { kind, name } }) => ({
    kind,
    policy: name,
    reason: VALUES_DIFFER,
    message,
  }));
}

function misspelled(policy: CompiledTaintPolicy, keys: NodeKeys): ReportedProblem[] {
  return misspelledKeys(policy, keys).map((message) => ({
    kind: policy.kind,
    policy: policy.name,
    reason: 'ProbablyMisspelt',
    message,
  }));
}
