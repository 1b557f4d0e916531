import { policiesInForce } from '../../cluster/policies/policy-object.ts';
import { groupsBy } from '../../collections/groups-by.ts';
import { type Keeping, keepersOf, keepingOf, nodeDrift } from '../../judge/node-drift.ts';
import { type Disagreement, disagreements, isContradiction, whyFirst } from '../../judge/policy/contradictions.ts';
import { formatTaint, type Taint, taintIdentity, valuesOf } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import type { Policy } from '../../policy/policy.ts';
import { compilePolicies } from '../../policy/policy-set.ts';
import { EVICTS, taintCommand } from '../../policy/reporting/taint-commands.ts';
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
    ...checkKept(taintPolicies, nodes),
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

/** A required taint that a node carries with a value that another policy keeps. */
interface KeptValue {
  readonly node: DoctorNode;
  readonly policy: CompiledTaintPolicy;
  readonly taint: Taint;
  readonly carried: Taint;
  readonly keeper: CompiledTaintPolicy;
  readonly keeping: Keeping;
}

/** Finds taints that one policy requires, on nodes whose present taint of that key another policy keeps. */
function checkKept(policies: readonly CompiledTaintPolicy[], nodes: readonly DoctorNode[]): Finding[] {
  const kept = nodes.flatMap((node) => keptOn(node, policies));
  const groups = groupsBy(kept, ({ policy, keeper, keeping, carried }) =>
    [policy.name, keeper.name, keeping, formatTaint(carried)].join(' '),
  );
  return groups.map(keptFinding);
}

function keptOn(node: DoctorNode, policies: readonly CompiledTaintPolicy[]): KeptValue[] {
  const { missing } = nodeDrift(node, policies);
  const blocked = missing.filter(({ blockedBy }) => blockedBy === 'OtherValuePresent');
  return blocked.flatMap(({ policy, taint }) => {
    const carried = carriedBy(node, taint);
    if (!carried) return [];
    const keepers = keepersOf(carried, node, policies, missing);
    const keeper = keepers.find(({ selectsNode }) => selectsNode(node.labels)) ?? keepers[0];
    return keeper ? [{ node, policy, taint, carried, keeper, keeping: keepingOf(keeper, carried, node).keeping }] : [];
  });
}

function keptFinding(group: readonly [KeptValue, ...KeptValue[]]): Finding {
  const [{ policy, taint, carried, keeper, keeping, node }] = group;
  const names = atMost(
    MAX_NAMED,
    group.map((one) => one.node.name),
  ).join(', ');
  const required = `TaintPolicy ${policy.name} requires ${formatTaint(taint)}`;
  if (keeping === 'Protects') {
    return finding(
      'problem',
      `${required}, and ${keeper.name} protects ${formatTaint(carried)}, which these nodes carry: ${names}`,
      `exclude that taint, or those nodes, from TaintPolicy ${keeper.name}: kubectl edit taintpolicy ${keeper.name}`,
    );
  }
  const keeps = keeping === 'SetsOnOtherNodes' ? 'sets' : 'protects';
  const evicts = taint.effect === 'NoExecute' ? `, which ${EVICTS}` : '';
  return finding(
    'problem',
    `${required}, and these nodes carry ${formatTaint(carried)}, which ${keeper.name} ${keeps} on other nodes: ${names}`,
    `correct the labels of these nodes, or set the required value on each${evicts}: ${taintCommand([node.name], [formatTaint(taint)], true)}`,
  );
}

function carriedBy({ taints }: DoctorNode, { key, effect }: Taint): Taint | undefined {
  const value = valuesOf(taints).get(taintIdentity({ key, effect }));
  return value === undefined ? undefined : { key, effect, value };
}
