import { implies, requirementsOf, satisfiable } from '../kubernetes/selector-overlap.ts';
import { formatTaint, identity } from '../kubernetes/taint.ts';
import { atMost, count } from '../kubernetes/text.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { TAINT_MODES } from '../policy/taint-policy.ts';
import type { EstablishedView, NodeView } from './node-view.ts';

const MAX_NAMED = 3;

/** The reason of the condition Stalled of policies that contradict each other. */
export const VALUES_DIFFER = 'RequiredValuesDiffer';

/** A taint with a value that a policy requires. */
interface RequiredValue {
  readonly policy: CompiledTaintPolicy;
  /** For example `spec.taints[0]`. */
  readonly field: string;
  /** The taint, as kubectl writes it. */
  readonly text: string;
}

/** Two policies that require different values of one taint on the same nodes. */
export interface Contradiction {
  /** A node that carries neither value gets this one. */
  readonly winner: RequiredValue;
  readonly loser: RequiredValue;
  /** The nodes that both select; none where only the selectors say that there can be such nodes. */
  readonly nodes: readonly string[];
  /** Why the winner wins. */
  readonly why: string;
}

type Named = Pick<NodeView, 'name' | 'labels'>;

/**
 * All contradictions among the policies, or those of `only`. Policies count by the mode that they declare: those that only report require
 * nothing. One that names no value takes any.
 */
export function contradictions(
  policies: readonly CompiledTaintPolicy[],
  nodes: readonly Named[],
  only?: CompiledTaintPolicy,
): Contradiction[] {
  const required = policies
    .filter(({ declared }) => declared !== 'Audit')
    .toSorted(byDeclaredStrength)
    .flatMap((policy) =>
      policy.required.flatMap(({ value: { taint, anyValue }, field }) =>
        anyValue ? [] : [{ policy, field, text: formatTaint(taint), key: identity(taint) }],
      ),
    );
  return [...Map.groupBy(required, ({ key }) => key).values()].flatMap((alike) =>
    alike.flatMap((winner, index) =>
      alike.slice(index + 1).flatMap((loser): Contradiction[] => {
        if (winner.text === loser.text || winner.policy === loser.policy) return [];
        if (only && winner.policy !== only && loser.policy !== only) return [];
        const meeting = meetingOf(winner.policy, loser.policy, nodes);
        if (!meeting?.isCertain) return [];
        return [{ winner, loser, nodes: meeting.nodes, why: whyFirst(winner.policy, loser.policy) }];
      }),
    ),
  );
}

/** Warnings for the author of a policy, each in few words: which other policies require another value. */
export function contradictionWarnings(
  policy: CompiledTaintPolicy,
  others: readonly CompiledTaintPolicy[],
  nodes: readonly Named[],
): string[] {
  return contradictions([...others, policy], nodes, policy).map(({ winner, loser, nodes: both }) => {
    const [other, outcome] =
      winner.policy === policy ? [loser, 'but this policy wins'] : [winner, 'and wins over this policy'];
    return `TaintPolicy ${other.policy.name} requires ${other.text} on ${placeOf(both)}, ${outcome}`;
  });
}

function placeOf(nodes: readonly string[]): string {
  if (nodes.length === 0) return 'the same nodes';
  return nodes.length === 1 ? `node ${nodes[0]}` : count(nodes.length, 'node');
}

/** Warnings for the author of a changed policy: which nodes it leaves. */
export function selectionWarnings(
  before: CompiledTaintPolicy | undefined,
  after: CompiledTaintPolicy,
  nodes: readonly EstablishedView[],
): string[] {
  const left = before ? unselectedCarriers(before, after, nodes) : [];
  if (left.length === 0) return [];
  const named = atMost(MAX_NAMED, left).join(', ');
  return [`this policy no longer protects taints on ${count(left.length, 'node')} that it selected: ${named}`];
}

/** For the status of each policy that is part of a contradiction: what it comes to, and on which nodes. */
export function contradictionText({ winner, loser, nodes, why }: Contradiction): string {
  const where =
    nodes.length === 0
      ? 'select the same nodes'
      : `select ${nodes.length === 1 ? 'node' : 'nodes'} ${atMost(MAX_NAMED, nodes).join(', ')}`;
  return (
    `TaintPolicies ${winner.policy.name} and ${loser.policy.name} ${where} and require ${winner.text} and ${loser.text}: ` +
    `a node that carries neither gets ${winner.text}, because ${why}; a node that carries one of them keeps it`
  );
}

/** Which of two policies names the value that a node gets: the first. In words, why. */
export function whyFirst(first: CompiledTaintPolicy, second: CompiledTaintPolicy): string {
  return first.declared === second.declared
    ? `both are in mode ${first.declared}, and ${first.name} comes first by name`
    : `mode ${first.declared} wins over mode ${second.declared}`;
}

/** Without --audit, this is the order of a PolicySet. */
function byDeclaredStrength(a: CompiledTaintPolicy, b: CompiledTaintPolicy): number {
  return TAINT_MODES.indexOf(a.declared) - TAINT_MODES.indexOf(b.declared) || (a.name < b.name ? -1 : 1);
}

/** Nodes that two policies are both for. */
export interface Meeting {
  /** Those that there are. */
  readonly nodes: readonly string[];
  /** Where there are none: the policy whose nodes are all nodes of the other as well. */
  readonly within?: CompiledTaintPolicy;
  /** False where a node with the labels of both could come, and need not. */
  readonly isCertain: boolean;
}

/** Undefined where no node can be selected by both. */
export function meetingOf(
  one: CompiledTaintPolicy,
  other: CompiledTaintPolicy,
  nodes: readonly Named[],
): Meeting | undefined {
  const both = nodes.filter(({ labels }) => one.selectsNode(labels) && other.selectsNode(labels));
  if (both.length > 0) return { nodes: both.map(({ name }) => name), isCertain: true };
  const [a, b] = [requirementsOf(one.nodeSelector), requirementsOf(other.nodeSelector)];
  if (!satisfiable([...a, ...b])) return undefined;
  if (implies(a, b)) return { nodes: [], within: one, isCertain: true };
  if (implies(b, a)) return { nodes: [], within: other, isCertain: true };
  return { nodes: [], isCertain: false };
}

/** The nodes that a changed policy no longer selects while they carry taints that it protected. */
export function unselectedCarriers(
  before: CompiledTaintPolicy,
  after: CompiledTaintPolicy,
  nodes: readonly EstablishedView[],
): string[] {
  if (before.mode === 'Audit') return [];
  return nodes
    .filter(({ labels, taints, established }) => {
      if (!before.selectsNode(labels) || after.selectsNode(labels)) return false;
      return taints.some((taint) => before.removalRestrictedBy(taint, established) !== undefined);
    })
    .map(({ name }) => name);
}
