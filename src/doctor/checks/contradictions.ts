import { policiesInForce } from '../../cluster/policies/policy-object.ts';
import { groupsBy } from '../../collections/groups-by.ts';
import { nodeDrift } from '../../judge/node-drift.ts';
import { type Disagreement, disagreements, isContradiction, whyFirst } from '../../judge/policy/contradictions.ts';
import { formatTaint, type Taint, taintIdentity, valuesOf } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { isEnforced } from '../../policy/enforcement.ts';
import type { Policy } from '../../policy/policy.ts';
import { compilePolicies } from '../../policy/policy-set.ts';
import { atMost } from '../../text/counts.ts';
import { type Finding, finding, needs } from '../check.ts';
import type { DoctorNode } from '../facts/doctor-node.ts';
import type { Facts } from '../facts/facts.ts';

const MAX_NAMED = 3;

/**
 * Finds policies that require incompatible taints of one node. Different modes do not contradict each other: Deny precedes Restore, and
 * Restore precedes Audit. A disagreement with a policy in mode Audit is a note, and so is one that no node has yet.
 */
export function checkContradictions({ policies, nodes }: Pick<Facts, 'policies' | 'nodes'>): readonly Finding[] {
  return needs({ policies }, (known) => contradictions(policiesInForce(known.policies), nodes.ok ? nodes.value : []));
}

function contradictions(policies: readonly Policy[], nodes: readonly DoctorNode[]): Finding[] {
  const { taintPolicies } = compilePolicies(policies.filter((policy) => policy.kind === 'TaintPolicy'));
  const selected = ({ selectsNode }: CompiledTaintPolicy) => nodes.filter(({ labels }) => selectsNode(labels));
  const results = [
    ...byPolicies(disagreements(taintPolicies, selected), taintPolicies).map(disagreementFinding),
    ...checkProtected(taintPolicies, nodes),
  ];
  if (results.length > 0) return results;
  return [finding('ok', `none among ${taintPolicies.length} TaintPolicies`)];
}

/** Sorted by the two policies, then by the rule of the first one. */
function byPolicies(unordered: readonly Disagreement[], policies: readonly CompiledTaintPolicy[]): Disagreement[] {
  const place = ({ policy }: Disagreement['first']) => policies.indexOf(policy);
  const rule = ({ policy, field }: Disagreement['first']) => policy.required.findIndex((one) => one.field === field);
  return unordered.toSorted(
    (a, b) => place(a.first) - place(b.first) || place(a.second) - place(b.second) || rule(a.first) - rule(b.first),
  );
}

function disagreementFinding(disagreement: Disagreement): Finding {
  const { first, second, isAudited } = disagreement;
  const [{ name: one }, { name: other }] = [first.policy, second.policy];
  const what = `require ${first.text} and ${second.text}, and a node can have only one`;
  const outcome = isAudited
    ? ''
    : `. A node that registers gets ${first.text}: ${whyFirst(first.policy, second.policy)}`;
  const remedy = `keep one of the two taints, or change the nodeSelector so that it selects no node of ${one}: kubectl edit taintpolicy ${other}`;
  const state = isContradiction(disagreement) ? 'problem' : 'note';
  return finding(state, `TaintPolicies ${one} and ${other} ${what}: ${nodesOf(disagreement)}${outcome}`, remedy);
}

/** Which nodes both policies select: existing nodes, else possible ones. */
function nodesOf({ first, second, overlap: { nodes, within, isCertain } }: Disagreement): string {
  if (nodes.length > 0)
    return `both select ${nodes.length === 1 ? 'node' : 'nodes'} ${atMost(MAX_NAMED, nodes).join(', ')}`;
  if (!isCertain) return 'a node with the labels of both would match both; there is none now';
  const [inner, outer] = within === first.policy ? [first, second] : [second, first];
  return `each node of ${inner.policy.name} is one of ${outer.policy.name}`;
}

/** Finds taints that one policy requires, on nodes whose present taint of that key another policy protects. */
function checkProtected(policies: readonly CompiledTaintPolicy[], nodes: readonly DoctorNode[]): Finding[] {
  const held = nodes.flatMap((node) =>
    nodeDrift(node, policies)
      .missing.filter(({ blockedBy }) => blockedBy === 'OtherValuePresent')
      .flatMap(({ policy, taint }) => {
        const carried = carriedBy(node, taint);
        const holder = carried && policies.find((other) => holds(other, node, carried) && other !== policy);
        return carried && holder ? [{ node, policy, taint, carried, holder }] : [];
      }),
  );
  const groups = groupsBy(held, ({ policy, holder, taint }) => `${policy.name} ${holder.name} ${taintIdentity(taint)}`);
  return groups.map((group) => {
    const [{ policy, taint, carried, holder }] = group;
    const names = atMost(
      MAX_NAMED,
      group.map(({ node }) => node.name),
    ).join(', ');
    const evidence = `TaintPolicy ${policy.name} requires ${formatTaint(taint)}, and ${holder.name} protects ${formatTaint(carried)}, which these nodes carry: ${names}`;
    return finding(
      'problem',
      evidence,
      `exclude that taint, or those nodes, from TaintPolicy ${holder.name}: kubectl edit taintpolicy ${holder.name}`,
    );
  });
}

function holds(policy: CompiledTaintPolicy, { labels }: DoctorNode, taint: Taint): boolean {
  // A policy that requires the taint is reported as one of a pair.
  const requires = policy.required.some((one) => taintIdentity(one.taint) === taintIdentity(taint));
  return isEnforced(policy) && !requires && policy.selectsNode(labels) && policy.protectingRule(taint) !== undefined;
}

function carriedBy({ taints }: DoctorNode, { key, effect }: Taint): Taint | undefined {
  const value = valuesOf(taints).get(taintIdentity({ key, effect }));
  return value === undefined ? undefined : { key, effect, value };
}
