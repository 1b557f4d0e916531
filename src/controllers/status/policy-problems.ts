import type { PolicyObject } from '../../cluster/policies/policy-object.ts';
import type { DaemonSetView } from '../../judge/daemon-set-view.ts';
import type { StoredNode } from '../../judge/node-view.ts';
import { comparisonBudget } from '../../judge/policy/comparison-budget.ts';
import {
  contradictions,
  contradictionText,
  type Disagreement,
  VALUES_DIFFER,
} from '../../judge/policy/contradictions.ts';
import { misspelledKeys } from '../../judge/policy/misspelled-keys.ts';
import { keysOf } from '../../judge/policy/node-keys.ts';
import { unselectedDaemonSets } from '../../judge/policy/unselected-daemon-sets.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { daemonSetName, type ReadyDaemonSet } from '../../policy/ready-when.ts';
import { ignoredText } from '../../policy/reporting/policy-messages.ts';
import { longLoop } from '../../runtime/long-loop.ts';
import type { SchedulingView } from '../../scheduling/coverage.ts';
import { type ReportedProblem, UNKNOWN_FIELDS } from '../reports.ts';
import type { ComparedKind, Reading } from './compared-kinds.ts';

const NAMES: Readonly<Record<ComparedKind, string>> = { nodes: 'nodes', daemonSets: 'DaemonSets' };

/** The policy has fields that this version does not know. */
export function ignoredFieldProblems({ kind, name, inForce }: PolicyObject): ReportedProblem[] {
  if (!inForce || inForce.ignored.length === 0) return [];
  return [{ kind, policy: name, reason: UNKNOWN_FIELDS, message: ignoredText(inForce.ignored) }];
}

/**
 * The policy cannot be compared with the cluster.
 * @param kinds those that the policy is compared with
 */
export function listProblems(
  { kind, name, inForce }: PolicyObject,
  kinds: readonly ComparedKind[],
  readings: Readonly<Record<ComparedKind, Reading>>,
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

/** TaintPolicies, with the nodes that they select. */
export interface TaintPolicySelection {
  readonly policies: readonly CompiledTaintPolicy[];
  readonly nodesOf: (policy: CompiledTaintPolicy) => readonly StoredNode[];
  /** When they are compared. */
  readonly now: Date;
}

/** What is wrong with TaintPolicies by the nodes of the cluster. */
export function nodeProblems(
  { policies, nodesOf, now }: TaintPolicySelection,
  nodes: readonly StoredNode[],
): ReportedProblem[] {
  const keys = keysOf(nodes);
  return [
    ...policies.flatMap((policy) =>
      misspelledKeys(policy, keys, nodesOf(policy), now).map(
        (message): ReportedProblem => ({ ...problemOf(policy), reason: 'KeyLooksMisspelled', message }),
      ),
    ),
    ...contradictions(policies, nodesOf).flatMap(contradictionProblems),
  ];
}

/** What is wrong with TaintPolicies by the DaemonSets of the cluster. */
export async function daemonSetProblems(
  { policies, nodesOf, now }: TaintPolicySelection,
  daemonSets: readonly (DaemonSetView & SchedulingView)[],
): Promise<ReportedProblem[]> {
  const byName = new Map(daemonSets.map((one) => [daemonSetName(one), one]));
  const surroundings = {
    daemonSetOf: (one: ReadyDaemonSet) => byName.get(daemonSetName(one)),
    budget: comparisonBudget(),
    letOthersRun: longLoop(),
    now,
  };
  const problems: ReportedProblem[] = [];
  for (const policy of policies) {
    for (const { reason, message } of await unselectedDaemonSets(policy, nodesOf(policy), surroundings))
      problems.push({ ...problemOf(policy), reason, message });
  }
  return problems;
}

function problemOf({ kind, name }: CompiledTaintPolicy) {
  return { kind, policy: name };
}

/** A problem of both policies: either may be the wrong one. */
function contradictionProblems(contradiction: Disagreement): ReportedProblem[] {
  const message = contradictionText(contradiction);
  return [contradiction.first, contradiction.second].map(({ policy }) => ({
    ...problemOf(policy),
    reason: VALUES_DIFFER,
    message,
  }));
}
