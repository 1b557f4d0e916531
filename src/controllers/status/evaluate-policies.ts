import type { PolicyObject } from '../../cluster/policies/policy-object.ts';
import type { DaemonSetView } from '../../judge/daemon-set-view.ts';
import type { NodeView } from '../../judge/node-view.ts';
import {
  contradictions,
  contradictionText,
  type Disagreement,
  VALUES_DIFFER,
} from '../../judge/policy/contradictions.ts';
import { daemonSetFindings, nodeFindings, podFindings, type StuckPod } from '../../judge/policy/findings.ts';
import { idleNotes } from '../../judge/policy/idle-policy.ts';
import { keysOf, misspelledKeys, type NodeKeys } from '../../judge/policy/misspelled-keys.ts';
import { startupNotes } from '../../judge/policy/startup-faults.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { modeOf, type PolicyKind } from '../../policy/policy.ts';
import { selectingPolicies } from '../../policy/policy-index.ts';
import type { PolicySet } from '../../policy/policy-set.ts';
import { needDaemonSets } from '../../policy/ready-when.ts';
import { nextPolicyStatus, type PolicyFindings } from '../../policy/reporting/next-policy-status.ts';
import { ignoredText } from '../../policy/reporting/policy-messages.ts';
import type { PatchedDaemonSet, PolicyStatus } from '../../policy/reporting/policy-status.ts';
import { longLoop } from '../../runtime/long-loop.ts';
import { type ReportedProblem, type Reports, stalledCondition, UNKNOWN_FIELDS } from '../reports.ts';

export interface EvaluationInput {
  readonly objects: readonly PolicyObject[];
  /** Whether all objects of the kind are known. Policies that are compared with another kind get no new status. */
  readonly isRead: (source: ComparedKind) => boolean;
  readonly compiled: PolicySet;
  readonly nodes: readonly NodeView[];
  /** Without those in the namespace of taintkeeper. */
  readonly daemonSets: readonly DaemonSetView[];
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

/** What the status of a policy depends on. The right to list one kind may be missing, and the other policies have a status nevertheless. */
export function comparedKinds(
  kind: PolicyKind,
  own: Pick<CompiledTaintPolicy, 'untilReady'> | undefined,
): readonly ComparedKind[] {
  switch (kind) {
    case 'TaintPolicy':
      // Some startup taints wait for DaemonSets.
      return own?.untilReady.some(({ parts }) => needDaemonSets(parts)) ? ['nodes', 'daemonSets'] : ['nodes'];
    case 'TolerationRestriction':
      return [];
    case 'TolerationPolicy':
    case 'RecoveryPolicy':
      return ['nodes', 'daemonSets'];
  }
}

/** Compares each policy with the cluster. It writes nothing. */
export async function evaluatePolicies(input: EvaluationInput): Promise<Evaluation> {
  const { isRead, compiled, nodes, daemonSets, pods, reports, patchedBy, audit, violators, now } = input;
  const { taintPolicies, tolerationPolicies, tolerationRestrictions, recoveryPolicies } = compiled;
  const byName = new Map(
    [...taintPolicies, ...tolerationPolicies, ...tolerationRestrictions, ...recoveryPolicies].map((one) => [
      `${one.kind}/${one.name}`,
      one,
    ]),
  );
  const ownOf = ({ kind, name }: Pick<PolicyObject, 'kind' | 'name'>) => byName.get(`${kind}/${name}`);
  const objects = input.objects.filter((policy) => {
    const own = ownOf(policy);
    return comparedKinds(policy.kind, own?.kind === 'TaintPolicy' ? own : undefined).every(isRead);
  });
  const notEvaluated = new Set(
    input.objects.filter((policy) => !objects.includes(policy)).map(({ kind, name }) => `${kind}/${name}`),
  );
  const selected = await nodesByPolicy(taintPolicies, nodes);
  const selectedBy = (policy: CompiledTaintPolicy) => selected.get(policy) ?? [];
  const keys = keysOf(nodes);
  const problems = [
    ...input.objects.flatMap(ignoredFieldProblems),
    ...reports.problems(),
    ...taintPolicies.flatMap((policy) => misspelledKeyProblems(policy, keys)),
    ...contradictions(taintPolicies, selectedBy).flatMap(contradictionProblems),
  ].filter(({ kind, policy }) => !notEvaluated.has(`${kind}/${policy}`));
  const policies: EvaluatedPolicy[] = [];
  const letOthersRun = longLoop();
  for (const policy of objects) {
    await letOthersRun();
    const conditions = reports.conditions(policy);
    if (conditions === 'pending') continue;
    const before = policy.status as PolicyStatus | undefined;
    const own = ownOf(policy);
    const findings = own && findingsOf(own, violators.get(policy.uid) ?? before?.violators ?? []);
    const status = nextPolicyStatus({
      kind: policy.kind,
      before,
      generation: policy.generation,
      problems: policy.result.ok ? [] : policy.result.problems,
      inForce: policy.inForce,
      mode: policy.inForce && (audit ? 'Audit' : modeOf(policy.inForce.policy)),
      audit,
      notes: policy.result.ok ? idle(own) : [],
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
    policies.push({ policy, status, violators: findings?.violators ?? [] });
  }
  return { policies, problems };

  function idle(own: Compiled | undefined): string[] {
    if (own?.kind !== 'TaintPolicy') return [];
    return [...idleNotes(own, selectedBy(own), nodes.length), ...startupNotes(own, daemonSets).notes];
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

/** The nodes that each policy selects. */
async function nodesByPolicy(
  policies: readonly CompiledTaintPolicy[],
  nodes: readonly NodeView[],
): Promise<ReadonlyMap<CompiledTaintPolicy, readonly NodeView[]>> {
  const selected = new Map(policies.map((policy): [CompiledTaintPolicy, NodeView[]] => [policy, []]));
  const letOthersRun = longLoop();
  for (const node of nodes) {
    await letOthersRun();
    for (const policy of selectingPolicies(policies, node.labels)) selected.get(policy)?.push(node);
  }
  return selected;
}

function ignoredFieldProblems({ kind, name, inForce }: PolicyObject): ReportedProblem[] {
  if (!inForce || inForce.ignored.length === 0) return [];
  return [{ kind, policy: name, reason: UNKNOWN_FIELDS, message: ignoredText(inForce.ignored) }];
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

function misspelledKeyProblems(policy: CompiledTaintPolicy, keys: NodeKeys): ReportedProblem[] {
  return misspelledKeys(policy, keys).map((message) => ({
    kind: policy.kind,
    policy: policy.name,
    reason: 'KeyLooksMisspelled',
    message,
  }));
}
