import type { PolicyObject } from '../../cluster/policies/policy-object.ts';
import type { DaemonSetView } from '../../judge/daemon-set-view.ts';
import type { StoredNode } from '../../judge/node-view.ts';
import { type Companions, collectCompanions } from '../../judge/policy/companions.ts';
import { type ComparisonBudget, comparisonBudget } from '../../judge/policy/comparison-budget.ts';
import { daemonSetFindings, nodeFindings, podFindings, type StuckPod } from '../../judge/policy/findings.ts';
import { idleNotes } from '../../judge/policy/idle-policy.ts';
import { startupNotes } from '../../judge/policy/startup-notes.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { modeOf } from '../../policy/policy.ts';
import { selectingPolicies } from '../../policy/policy-index.ts';
import type { PolicySet } from '../../policy/policy-set.ts';
import { daemonSetName, type ReadyDaemonSet } from '../../policy/ready-when.ts';
import { nextPolicyStatus, type PolicyFindings } from '../../policy/reporting/next-policy-status.ts';
import type { PatchedDaemonSet, PolicyStatus } from '../../policy/reporting/policy-status.ts';
import { longLoop } from '../../runtime/long-loop.ts';
import type { SchedulingView } from '../../scheduling/coverage.ts';
import { type ReportedProblem, type Reports, stalledCondition } from '../reports.ts';
import { type ComparedKind, comparedKinds, type Reading } from './compared-kinds.ts';
import { daemonSetProblems, ignoredFieldProblems, listProblems, nodeProblems } from './policy-problems.ts';

export interface EvaluationInput {
  readonly objects: readonly PolicyObject[];
  /**
   * How much of a kind is known. A policy that is compared with a kind that is `Pending` gets no new status. With one that cannot be listed, its status
   * says so, and keeps what was found before.
   */
  readonly readings: Readonly<Record<ComparedKind, Reading>>;
  readonly compiled: PolicySet;
  readonly nodes: readonly StoredNode[];
  readonly daemonSets: readonly (DaemonSetView & SchedulingView)[];
  /** The DaemonSets that the leader cannot read. An earlier version may be among {@link daemonSets}. */
  readonly unreadable: readonly ReadyDaemonSet[];
  /** The namespace of taintkeeper. No TolerationPolicy or RecoveryPolicy selects its DaemonSets. */
  readonly ownNamespace: string;
  /** The daemon pods that are Failed on a node where they could run, however short the time. */
  readonly pods: readonly StuckPod[];
  /** What controllers report. */
  readonly reports: Pick<Reports, 'problems' | 'conditions'>;
  /** The DaemonSets that the TolerationPolicy has patched. */
  readonly patchedBy: (policy: string) => readonly PatchedDaemonSet[];
  /** Every policy is taken to be in mode Audit. */
  readonly audit: boolean;
  /** All violators that the last evaluation of each policy found, by its uid. */
  readonly violators: ReadonlyMap<string, readonly string[]>;
  /** When conditions change that change now. */
  readonly now: Date;
}

/** The policies, compared with the cluster. */
export interface Evaluation {
  /** The policies whose conditions all controllers know. */
  readonly policies: readonly EvaluatedPolicy[];
  /** Those of controllers, and those that the policies themselves have. */
  readonly problems: readonly ReportedProblem[];
}

export interface EvaluatedPolicy {
  readonly policy: PolicyObject;
  readonly status: PolicyStatus;
  /** All of them, by name. The status names only the first few. */
  readonly violators: readonly string[];
}

/** A policy, and what it is compared with. */
interface ComparedPolicy {
  readonly policy: PolicyObject;
  /** Undefined for a policy that is not in force. */
  readonly own: PolicySet[keyof PolicySet][number] | undefined;
  readonly kinds: readonly ComparedKind[];
}

/** What the policies are compared with, collected once. */
interface Selection {
  readonly nodesOf: (policy: CompiledTaintPolicy) => readonly StoredNode[];
  readonly companionsOf: Companions['of'];
  /** Those that TolerationPolicies and RecoveryPolicies can select. */
  readonly selectableDaemonSets: EvaluationInput['daemonSets'];
  /** Those of which the present version is known. */
  readonly currentDaemonSets: EvaluationInput['daemonSets'];
  readonly unreadableIn: ReadonlySet<string>;
  /** Of all notes together. */
  readonly notesBudget: ComparisonBudget;
}

/** Compares each policy with the cluster. It writes nothing. */
export async function evaluatePolicies(input: EvaluationInput): Promise<Evaluation> {
  const compared = comparedPolicies(input);
  const isPending = ({ kinds }: ComparedPolicy) => kinds.some((kind) => input.readings[kind] === 'Pending');
  const pending = new Set(compared.filter(isPending).map(({ policy }) => keyOf(policy.kind, policy.name)));
  const selection = await select(input);
  const problems = (await allProblems(compared, selection, input)).filter(
    ({ kind, policy }) => !pending.has(keyOf(kind, policy)),
  );
  const problemsByPolicy = Map.groupBy(problems, ({ kind, policy }) => keyOf(kind, policy));
  const policies: EvaluatedPolicy[] = [];
  const letOthersRun = longLoop();
  for (const one of compared) {
    if (isPending(one)) continue;
    await letOthersRun();
    const evaluated = evaluatePolicy(one, selection, problemsByPolicy, input);
    if (evaluated) policies.push(evaluated);
  }
  return { policies, problems };
}

function comparedPolicies({ objects, compiled }: EvaluationInput): ComparedPolicy[] {
  const { taintPolicies, tolerationPolicies, tolerationRestrictions, recoveryPolicies } = compiled;
  const byKey = new Map(
    [...taintPolicies, ...tolerationPolicies, ...tolerationRestrictions, ...recoveryPolicies].map((one) => [
      keyOf(one.kind, one.name),
      one,
    ]),
  );
  return objects.map((policy) => {
    const own = byKey.get(keyOf(policy.kind, policy.name));
    const kinds = comparedKinds(policy.kind, own?.kind === 'TaintPolicy' ? own : undefined);
    return { policy, own, kinds };
  });
}

function keyOf(kind: PolicyObject['kind'], name: string): string {
  return `${kind}/${name}`;
}

async function select({ compiled, nodes, daemonSets, unreadable, ownNamespace }: EvaluationInput): Promise<Selection> {
  const policies = compiled.taintPolicies;
  const unreadableNames = new Set(unreadable.map(daemonSetName));
  const companions = collectCompanions();
  const selected = new Map(policies.map((policy): [CompiledTaintPolicy, StoredNode[]] => [policy, []]));
  const letOthersRun = longLoop();
  for (const node of nodes) {
    await letOthersRun();
    const selecting = selectingPolicies(policies, node.labels);
    companions.add(selecting);
    for (const policy of selecting) selected.get(policy)?.push(node);
  }
  return {
    nodesOf: (policy) => selected.get(policy) ?? [],
    companionsOf: companions.of,
    selectableDaemonSets: daemonSets.filter(({ namespace }) => namespace !== ownNamespace),
    currentDaemonSets: daemonSets.filter((one) => !unreadableNames.has(daemonSetName(one))),
    unreadableIn: new Set(unreadable.map(({ namespace }) => namespace)),
    notesBudget: comparisonBudget(),
  };
}

async function allProblems(
  compared: readonly ComparedPolicy[],
  { nodesOf, currentDaemonSets }: Selection,
  { compiled, readings, reports, nodes, now }: EvaluationInput,
): Promise<ReportedProblem[]> {
  const taintPolicies = { policies: compiled.taintPolicies, nodesOf, now };
  // A part of the nodes may be known before.
  const knowsNodes = readings.nodes === 'Read';
  return [
    ...compared.flatMap(({ policy }) => ignoredFieldProblems(policy)),
    ...compared.flatMap(({ policy, kinds }) => listProblems(policy, kinds, readings)),
    ...reports.problems(),
    ...(knowsNodes ? nodeProblems(taintPolicies, nodes) : []),
    ...(knowsNodes && readings.daemonSets === 'Read' ? await daemonSetProblems(taintPolicies, currentDaemonSets) : []),
  ];
}

/**
 * @param problemsByPolicy by {@link keyOf}
 * @returns undefined while a controller does not know the conditions of the policy
 */
function evaluatePolicy(
  { policy, own, kinds }: ComparedPolicy,
  selection: Selection,
  problemsByPolicy: ReadonlyMap<string, readonly ReportedProblem[]>,
  input: EvaluationInput,
): EvaluatedPolicy | undefined {
  const { readings, reports, patchedBy, audit, now } = input;
  const conditions = reports.conditions(policy);
  if (conditions === 'pending') return undefined;
  const before = policy.status as PolicyStatus | undefined;
  const known = input.violators.get(policy.uid) ?? before?.violators ?? [];
  const isCompared = kinds.every((kind) => readings[kind] === 'Read');
  const findings = own && (isCompared ? findingsOf(own, selection, known, input) : 'Unchanged');
  const problems = problemsByPolicy.get(keyOf(policy.kind, policy.name)) ?? [];
  const status = nextPolicyStatus({
    kind: policy.kind,
    before,
    generation: policy.generation,
    problems: policy.result.ok ? [] : policy.result.problems,
    inForce: policy.inForce,
    mode: policy.inForce && (audit ? 'Audit' : modeOf(policy.inForce.policy)),
    audit,
    notes: policy.result.ok && isCompared ? notesOn(own, selection, input) : [],
    reported: [...conditions, ...problems.flatMap(stalledCondition)],
    patched: policy.kind === 'TolerationPolicy' ? patchedBy(policy.name) : [],
    findings,
    now,
  });
  const violators = findings === 'Unchanged' ? known : (findings?.violators ?? []);
  return { policy, status, violators };
}

function findingsOf(
  policy: NonNullable<ComparedPolicy['own']>,
  { nodesOf, selectableDaemonSets }: Selection,
  known: readonly string[],
  { pods }: EvaluationInput,
): PolicyFindings | undefined {
  switch (policy.kind) {
    case 'TaintPolicy':
      return nodeFindings(policy, nodesOf(policy), known);
    case 'TolerationPolicy':
      return daemonSetFindings(policy, selectableDaemonSets, known);
    case 'TolerationRestriction':
      return undefined;
    case 'RecoveryPolicy':
      return podFindings(policy, selectableDaemonSets, pods, known);
  }
}

/** Notes on a TaintPolicy, such as that it selects no node, or which DaemonSets its startup taints do not wait for. */
function notesOn(
  policy: ComparedPolicy['own'],
  { nodesOf, companionsOf, currentDaemonSets, unreadableIn, notesBudget }: Selection,
  { nodes }: EvaluationInput,
): string[] {
  if (policy?.kind !== 'TaintPolicy') return [];
  const { notes } = startupNotes(policy, {
    daemonSets: currentDaemonSets,
    isKnown: (namespace) => !unreadableIn.has(namespace),
    companions: companionsOf(policy),
    budget: notesBudget,
  });
  return [...idleNotes(policy, nodesOf(policy), nodes.length), ...notes];
}
