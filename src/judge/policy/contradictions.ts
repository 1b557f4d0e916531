import { oncePer } from '../../collections/once-per.ts';
import { equalTaints, formatTaint, taintIdentity } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy, EnsuredTaint } from '../../policy/compiled-taint-policy.ts';
import { isEnforcedWithoutAudit } from '../../policy/enforcement.ts';
import { possiblePairs } from '../../policy/policy-index.ts';
import { byName } from '../../policy/policy-set.ts';
import { TAINT_MODES } from '../../policy/taint-policy.ts';
import { atMost, count } from '../../text/counts.ts';
import type { DeclaredTaint } from '../declared-taints.ts';
import type { NodeView } from '../node-view.ts';
import { type SelectionOverlap, selectionOverlap } from './selection-overlap.ts';

const MAX_NAMED = 3;

/** The reason of the condition Stalled of policies that contradict each other. */
export const VALUES_DIFFER = 'RequiredValuesDiffer';

/** A taint as a policy requires it. */
interface RequiredByPolicy {
  readonly policy: CompiledTaintPolicy;
  /** For example `spec.taints[0]`. */
  readonly field: string;
  /** The taint, as kubectl writes it. */
  readonly text: string;
}

/** Two policies that require different values of one taint, on nodes that both select or could select. A node can have only one of them. */
export interface Disagreement {
  /** The taint of the policy with the stronger declared mode. If the modes are equal, of the policy that comes first by name. */
  readonly first: RequiredByPolicy;
  readonly second: RequiredByPolicy;
  readonly overlap: SelectionOverlap;
  /** Whether one of the policies only reports. */
  readonly isAudited: boolean;
}

/** Whether neither policy is in mode Audit, and both certainly select common nodes. */
export function isContradiction({ overlap, isAudited }: Disagreement): boolean {
  return overlap.isCertain && !isAudited;
}

/** The nodes that a policy selects. */
type SelectedNodes = (policy: CompiledTaintPolicy) => readonly Pick<NodeView, 'name'>[];

/** All disagreements among the policies, in the order of their taints. A policy counts by the mode that it declares. A policy without a value accepts any. */
export function disagreements(policies: readonly CompiledTaintPolicy[], selected: SelectedNodes): Disagreement[] {
  // A policy may have one of thousands of values, and disagree with all others.
  const setOf = oncePer((policy: CompiledTaintPolicy) => new Set(selected(policy)));
  return disagreementsAmong(policies, (one, other) =>
    [...setOf(one).intersection(setOf(other))].map(({ name }) => name),
  );
}

/** The names of the nodes that both policies select. */
type SharedNodes = (one: CompiledTaintPolicy, other: CompiledTaintPolicy) => readonly string[];

function disagreementsAmong(policies: readonly CompiledTaintPolicy[], shared: SharedNodes): Disagreement[] {
  // Computed once for each pair: two policies may disagree about many taints, always on the same nodes.
  const overlaps = oncePer((one: CompiledTaintPolicy) =>
    oncePer((other: CompiledTaintPolicy) => selectionOverlap(one, other, shared(one, other))),
  );
  const required = policies
    .toSorted(byDeclaredStrength)
    .flatMap((policy) => policy.required.map((one) => ({ ...one, policy, nodeSelector: policy.nodeSelector })));
  return [...Map.groupBy(required, ({ taint }) => taintIdentity(taint)).values()].flatMap((alike) =>
    possiblePairs(alike).flatMap(([first, second]): Disagreement[] => {
      const overlap = differ(first, second) ? overlaps(first.policy)(second.policy) : undefined;
      if (!overlap) return [];
      const isAudited = !isEnforcedWithoutAudit(first.policy) || !isEnforcedWithoutAudit(second.policy);
      return [{ first: asText(first), second: asText(second), overlap, isAudited }];
    }),
  );
}

function differ(a: EnsuredTaint, b: EnsuredTaint): boolean {
  return !a.anyValue && !b.anyValue && !equalTaints(a.taint, b.taint);
}

function asText({ policy, field, taint }: DeclaredTaint): RequiredByPolicy {
  return { policy, field, text: formatTaint(taint) };
}

/** All contradictions among the policies. A node that registers gets the value of the first policy; the leader leaves a running node alone. */
export function contradictions(policies: readonly CompiledTaintPolicy[], selected: SelectedNodes): Disagreement[] {
  // Policies that only report contradict none, so they are not compared.
  return disagreements(policies.filter(isEnforcedWithoutAudit), selected).filter(isContradiction);
}

/** The other policies that require a different value of one of the policy's taints. */
export function disagreeingWith(
  policy: CompiledTaintPolicy,
  others: readonly CompiledTaintPolicy[],
): CompiledTaintPolicy[] {
  if (!isEnforcedWithoutAudit(policy)) return [];
  const own = Map.groupBy(policy.required, ({ taint }) => taintIdentity(taint));
  return others.filter(
    (other) =>
      isEnforcedWithoutAudit(other) &&
      other.required.some((one) => own.get(taintIdentity(one.taint))?.some((mine) => differ(mine, one))),
  );
}

/**
 * Warnings for the author of a policy, each in few words: which other policies require another value.
 * @param shared the policies of {@link disagreeingWith}, each with the nodes that both select
 */
export function contradictionWarnings(
  policy: CompiledTaintPolicy,
  shared: ReadonlyMap<CompiledTaintPolicy, readonly string[]>,
): string[] {
  const found = [...shared].flatMap(([other, nodes]) => disagreementsAmong([policy, other], () => nodes));
  return found.filter(isContradiction).map(({ first, second, overlap }) => {
    const [other, outcome] =
      first.policy === policy ? [second, 'but this policy wins'] : [first, 'and wins over this policy'];
    return `TaintPolicy ${other.policy.name} requires ${other.text} on ${placeOf(overlap.nodes)}, ${outcome}`;
  });
}

function placeOf(nodes: readonly string[]): string {
  if (nodes.length === 0) return 'the same nodes';
  return nodes.length === 1 ? `node ${nodes[0]}` : count(nodes.length, 'node');
}

/** For the status of each policy of a contradiction: the nodes, and which value they get. */
export function contradictionText({ first, second, overlap: { nodes } }: Disagreement): string {
  const where =
    nodes.length === 0
      ? 'select the same nodes'
      : `select ${nodes.length === 1 ? 'node' : 'nodes'} ${atMost(MAX_NAMED, nodes).join(', ')}`;
  return (
    `TaintPolicies ${first.policy.name} and ${second.policy.name} ${where} and require ${first.text} and ${second.text}: ` +
    `a node that registers gets ${first.text}, because ${whyFirst(first.policy, second.policy)}; a running node keeps what it carries`
  );
}

/** Why a node gets the value of the first policy, in words. */
export function whyFirst(first: CompiledTaintPolicy, second: CompiledTaintPolicy): string {
  return first.declaredMode === second.declaredMode
    ? `both are in mode ${first.declaredMode}, and ${first.name} comes first by name`
    : `mode ${first.declaredMode} wins over mode ${second.declaredMode}`;
}

/** Without --audit, this is the order of a PolicySet. */
function byDeclaredStrength(a: CompiledTaintPolicy, b: CompiledTaintPolicy): number {
  return TAINT_MODES.indexOf(a.declaredMode) - TAINT_MODES.indexOf(b.declaredMode) || byName(a, b);
}
