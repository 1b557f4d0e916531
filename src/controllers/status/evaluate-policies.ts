import type { PolicyObject } from '../../cluster/policies/policy-object.ts';
import type { DaemonSetView } from '../../judge/daemon-set-view.ts';
import type { StoredNode } from '../../judge/node-view.ts';
import { type Companions, collectCompanions } from '../../judge/policy/companions.ts';
import {
  contradictions,
  contradictionText,
  type Disagreement,
  VALUES_DIFFER,
} from '../../judge/policy/contradictions.ts';
import { daemonSetFindings, nodeFindings, podFindings, type StuckPod } from '../../judge/policy/findings.ts';
import { idleNotes } from '../../judge/policy/idle-policy.ts';
import { misspelledKeys } from '../../judge/policy/misspelled-keys.ts';
import { keysOf } from '../../judge/policy/node-keys.ts';
import { startupNotes } from '../../judge/policy/startup-notes.ts';
import { comparisonBudget, unselectedDaemonSets } from '../../judge/policy/unselected-daemon-sets.ts';
import { type CompiledTaintPolicy, waitsForDaemonSets } from '../../policy/compiled-taint-policy.ts';
import { modeOf, type PolicyKind } from '../../policy/policy.ts';
import { selectingPolicies } from '../../policy/policy-index.ts';
import type { PolicySet } from '../../policy/policy-set.ts';
import { daemonSetName, type ReadyDaemonSet } from '../../policy/ready-when.ts';
import { nextPolicyStatus, type PolicyFindings } from '../../policy/reporting/next-policy-status.ts';
import { ignoredText } from '../../policy/reporting/policy-messages.ts';
import type { PatchedDaemonSet, PolicyStatus } from '../../policy/reporting/policy-status.ts';
import { longLoop } from '../../runtime/long-loop.ts';
import type { SchedulingView } from '../../scheduling/coverage.ts';
import { type ReportedProblem, type Reports, stalledCondition, UNKNOWN_FIELDS } from '../reports.ts';

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
  /** The namespaces with a DaemonSet that the leader cannot read. */
  readonly unreadableIn: ReadonlySet<string>;
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
  /** All violators that the last evaluation found, by the uid of the policy. */
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

type Compiled = PolicySet[keyof PolicySet][number];

/** A kind of objects that policies are compared with. */
export type ComparedKind = 'nodes' | 'daemonSets';

/** Whether all objects of a kind are known, will be known soon, or cannot be listed, and why. */
export type Reading = 'Read' | 'Pending' | { readonly error: string };

/** What the status of a policy depends on. The right to list one kind may be missing, and the other policies have a status nevertheless. */
export function comparedKinds(
  kind: PolicyKind,
  own: Pick<CompiledTaintPolicy, 'untilReady'> | undefined,
): readonly ComparedKind[] {
  switch (kind) {
    case 'TaintPolicy':
      return own && waitsForDaemonSets(own) ? ['nodes', 'daemonSets'] : ['nodes'];
    case 'TolerationRestriction':
      return [];
    case 'TolerationPolicy':
    case 'RecoveryPolicy':
      return ['nodes', 'daemonSets'];
  }
}

/** Compares each policy with the cluster. It writes nothing. */
export async function evaluatePolicies(input: EvaluationInput): Promise<Evaluation> {
  const { readings, compiled, nodes, pods, reports, patchedBy, audit, violators, now } = input;
  const daemonSets = input.daemonSets.filter(({ namespace }) => namespace !== input.ownNamespace);
  const { taintPolicies, tolerationPolicies, tolerationRestrictions, recoveryPolicies } = compiled;
  const byName = new Map(
    [...taintPolicies, ...tolerationPolicies, ...tolerationRestrictions, ...recoveryPolicies].map((one) => [
      `${one.kind}/${one.name}`,
      one,
    ]),
  );
  const ownOf = ({ kind, name }: Pick<PolicyObject, 'kind' | 'name'>) => byName.get(`${kind}/${name}`);
  const kindsOf = (policy: PolicyObject) => {
    const own = ownOf(policy);
    return comparedKinds(policy.kind, own?.kind === 'TaintPolicy' ? own : undefined);
  };
  const objects = input.objects.filter((policy) => kindsOf(policy).every((kind) => readings[kind] !== 'Pending'));
  const notEvaluated = new Set(
    input.objects.filter((policy) => !objects.includes(policy)).map(({ kind, name }) => `${kind}/${name}`),
  );
  const companions = collectCompanions();
  const selected = await nodesByPolicy(taintPolicies, nodes, companions);
  const selectedBy = (policy: CompiledTaintPolicy) => selected.get(policy) ?? [];
  const problems = [
    ...input.objects.flatMap(ignoredFieldProblems),
    ...objects.flatMap((policy) => listProblems(policy, kindsOf(policy), readings)),
    ...reports.problems(),
    // A part of the nodes may be known before.
    ...(readings.nodes === 'Read' ? nodeProblems() : []),
    ...(readings.nodes === 'Read' && readings.daemonSets === 'Read' ? await daemonSetProblems() : []),
  ].filter(({ kind, policy }) => !notEvaluated.has(`${kind}/${policy}`));
  const policies: EvaluatedPolicy[] = [];
  const letOthersRun = longLoop();
  for (const policy of objects) {
    await letOthersRun();
    const conditions = reports.conditions(policy);
    if (conditions === 'pending') continue;
    const before = policy.status as PolicyStatus | undefined;
    const own = ownOf(policy);
    const known = violators.get(policy.uid) ?? before?.violators ?? [];
    const isCompared = kindsOf(policy).every((kind) => readings[kind] === 'Read');
    const findings = own && (isCompared ? findingsOf(own, known) : 'Unchanged');
    const status = nextPolicyStatus({
      kind: policy.kind,
      before,
      generation: policy.generation,
      problems: policy.result.ok ? [] : policy.result.problems,
      inForce: policy.inForce,
      mode: policy.inForce && (audit ? 'Audit' : modeOf(policy.inForce.policy)),
      audit,
      notes: policy.result.ok && isCompared ? idle(own) : [],
      reported: [
        ...conditions,
        ...problems
          .filter(({ kind, policy: name }) => kind === policy.kind && name === policy.name)
          .flatMap(stalledCondition),
      ],
      patched: policy.kind === 'TolerationPolicy' ? patchedBy(policy.name) : [],
      findings,
      now,
    });
    policies.push({ policy, status, violators: findings === 'Unchanged' ? known : (findings?.violators ?? []) });
  }
  return { policies, problems };

  function nodeProblems(): ReportedProblem[] {
    const keys = keysOf(nodes);
    return [
      ...taintPolicies.flatMap((policy) =>
        misspelledKeys(policy, keys, selectedBy(policy), now).map(
          (message): ReportedProblem => ({ ...problemOf(policy), reason: 'KeyLooksMisspelled', message }),
        ),
      ),
      ...contradictions(taintPolicies, selectedBy).flatMap(contradictionProblems),
    ];
  }

  async function daemonSetProblems(): Promise<ReportedProblem[]> {
    const byName = new Map(input.daemonSets.map((one) => [daemonSetName(one), one]));
    const surroundings = {
      daemonSetOf: (one: ReadyDaemonSet) => byName.get(daemonSetName(one)),
      budget: comparisonBudget(),
      letOthersRun: longLoop(),
      now,
    };
    const problems: ReportedProblem[] = [];
    for (const policy of taintPolicies) {
      for (const { reason, message } of await unselectedDaemonSets(policy, selectedBy(policy), surroundings))
        problems.push({ ...problemOf(policy), reason, message });
    }
    return problems;
  }

  function idle(own: Compiled | undefined): string[] {
    if (own?.kind !== 'TaintPolicy') return [];
    const { notes } = startupNotes(own, {
      daemonSets: input.daemonSets,
      isKnown: (namespace) => !input.unreadableIn.has(namespace),
      companions: companions.of(own),
    });
    return [...idleNotes(own, selectedBy(own), nodes.length), ...notes];
  }

  function findingsOf(own: Compiled, known: readonly string[]): PolicyFindings | undefined {
    switch (own.kind) {
      case 'TaintPolicy':
        return nodeFindings(own, selectedBy(own), known);
      case 'TolerationPolicy':
        return daemonSetFindings(own, daemonSets, known);
      case 'TolerationRestriction':
        return undefined;
      case 'RecoveryPolicy':
        return podFindings(own, daemonSets, pods, known);
    }
  }
}

/** The nodes that each policy selects. @param companions gets the policies that select a node */
async function nodesByPolicy(
  policies: readonly CompiledTaintPolicy[],
  nodes: readonly StoredNode[],
  companions: Companions,
): Promise<ReadonlyMap<CompiledTaintPolicy, readonly StoredNode[]>> {
  const selected = new Map(policies.map((policy): [CompiledTaintPolicy, StoredNode[]] => [policy, []]));
  const letOthersRun = longLoop();
  for (const node of nodes) {
    await letOthersRun();
    const selecting = selectingPolicies(policies, node.labels);
    companions.add(selecting);
    for (const policy of selecting) selected.get(policy)?.push(node);
  }
  return selected;
}

const NAMES: Readonly<Record<ComparedKind, string>> = { nodes: 'nodes', daemonSets: 'DaemonSets' };

function listProblems(
  { kind, name, inForce }: PolicyObject,
  kinds: readonly ComparedKind[],
  readings: EvaluationInput['readings'],
): ReportedProblem[] {
  // A TolerationRestriction is compared with nothing.
  if (kind === 'TolerationRestriction' || !inForce) return [];
  return kinds.flatMap((compared): ReportedProblem[] => {
    const reading = readings[compared];
    if (typeof reading === 'string') return [];
    const message = `the leader cannot list ${NAMES[compared]}: ${reading.error}`;
    return [{ kind, policy: name, reason: 'NotListed', message }];
  });
}

function ignoredFieldProblems({ kind, name, inForce }: PolicyObject): ReportedProblem[] {
  if (!inForce || inForce.ignored.length === 0) return [];
  return [{ kind, policy: name, reason: UNKNOWN_FIELDS, message: ignoredText(inForce.ignored) }];
}

function problemOf({ kind, name }: CompiledTaintPolicy) {
  return { kind, policy: name };
}

/** A problem of both policies: either may be the wrong one. */
function contradictionProblems(contradiction: Disagreement): ReportedProblem[] {
  const message = contradictionText(contradiction);
  return [contradiction.first, contradiction.second].map(({ policy: { kind, name } }) => ({
    kind,
    policy: name,
    reason: VALUES_DIFFER,
    message,
  }));
}
