import { policiesInForce } from '../../cluster/policies.ts';
import { type Meeting, meetingOf, whyFirst } from '../../judge/contradictions.ts';
import { nodeDrift } from '../../judge/node-drift.ts';
import { NOTHING_RECORDED } from '../../judge/node-record.ts';
import { formatTaint, identity, type Taint, valuesOf } from '../../kubernetes/taint.ts';
import { atMost } from '../../kubernetes/text.ts';
import type { Policy, TaintPolicy } from '../../policy/policy.ts';
import { type CompiledTaintPolicy, compilePolicies, type RequiredTaint } from '../../policy/policy-set.ts';
import { type Finding, finding, needs } from '../check.ts';
import type { DoctorNode } from '../cluster-facts.ts';
import type { Facts } from '../facts.ts';

const MAX_NAMED = 3;

interface Side {
  readonly policy: TaintPolicy;
  readonly compiled: CompiledTaintPolicy;
}

/**
 * Finds policies that require incompatible taints of one node. Different modes do not contradict each other: Deny precedes Restore, and
 * Restore precedes Audit. A contradiction with a policy in mode Audit is a note, and so is one that no node has yet.
 */
export function checkContradictions({ policies, nodes }: Pick<Facts, 'policies' | 'nodes'>): readonly Finding[] {
  return needs({ policies }, (known) => contradictions(policiesInForce(known.policies), nodes.ok ? nodes.value : []));
}

function contradictions(policies: readonly Policy[], nodes: readonly DoctorNode[]): Finding[] {
  const declared = policies.filter((policy) => policy.kind === 'TaintPolicy');
  const { taintPolicies } = compilePolicies(declared);
  const sides = taintPolicies.flatMap((compiled): Side[] => {
    const policy = declared.find(({ name }) => name === compiled.name);
    return policy ? [{ policy, compiled }] : [];
  });
  const pairs = sides.flatMap((one, index) => sides.slice(index + 1).map((other) => [one, other] as const));
  const results = [
    ...pairs.flatMap(([one, other]) => checkPair(one, other, nodes)),
    ...checkProtected(taintPolicies, nodes),
  ];
  if (results.length > 0) return results;
  return [finding('ok', `none among ${declared.length} TaintPolicies`)];
}

function checkPair(one: Side, other: Side, nodes: readonly DoctorNode[]): Finding[] {
  const clashes = one.compiled.required.flatMap(({ value: a }) =>
    other.compiled.required.flatMap(({ value: b }) => clash(a, b) ?? []),
  );
  if (clashes.length === 0) return [];
  const meeting = meetingOf(one.compiled, other.compiled, nodes);
  if (meeting === undefined) return [];
  const names = `TaintPolicies ${one.policy.name} and ${other.policy.name}`;
  const audited = [one, other].some(({ compiled }) => compiled.mode === 'Audit');
  const where = nodesOf(meeting, one, other);
  return clashes.map(({ what, wins, serious }) => {
    const state = serious && meeting.isCertain && !audited ? 'problem' : 'note';
    const outcome =
      wins && !audited ? `. A node with neither gets ${wins}: ${whyFirst(one.compiled, other.compiled)}` : '';
    const remedy = `choose one, or make its nodeSelector leave out what ${one.policy.name} selects: kubectl edit taintpolicy ${other.policy.name}`;
    return finding(state, `${names} ${what}: ${where}${outcome}`, remedy);
  });
}

/** How two required taints contradict each other, if they do. */
function clash(
  a: RequiredTaint,
  b: RequiredTaint,
): { readonly what: string; readonly serious: boolean; readonly wins?: string } | undefined {
  if (identity(a.taint) !== identity(b.taint)) return undefined;
  if (!a.anyValue && !b.anyValue && (a.taint.value ?? '') !== (b.taint.value ?? '')) {
    return {
      what: `require ${formatTaint(a.taint)} and ${formatTaint(b.taint)}, and a node can have only one`,
      wins: formatTaint(a.taint),
      serious: true,
    };
  }
  if (a.taint.effect === 'NoExecute' && a.mayEvict !== b.mayEvict) {
    const what = `differ in mayEvict for ${formatTaint(a.taint)}; the one that allows it is enough to evict`;
    return { what, serious: false };
  }
  return undefined;
}

/** Which nodes both policies select: existing nodes, else possible ones. */
function nodesOf({ nodes, within, isCertain }: Meeting, one: Side, other: Side): string {
  if (nodes.length > 0)
    return `both select ${nodes.length === 1 ? 'node' : 'nodes'} ${atMost(MAX_NAMED, nodes).join(', ')}`;
  if (!isCertain) return 'a node with the labels of both would match both; there is none now';
  const [inner, outer] = within === one.compiled ? [one, other] : [other, one];
  return `each node of ${inner.policy.name} is one of ${outer.policy.name}`;
}

/** Finds taints that one policy requires, on nodes whose present taint of that key another policy protects. */
function checkProtected(policies: readonly CompiledTaintPolicy[], nodes: readonly DoctorNode[]): Finding[] {
  const held = nodes.flatMap((node) =>
    nodeDrift({ ...node, ...NOTHING_RECORDED }, policies)
      .losses.filter(({ blockedBy }) => blockedBy === 'OtherValuePresent')
      .flatMap(({ policy, taint }) => {
        const carried = carriedBy(node, taint);
        const holder = carried && policies.find((other) => holds(other, node, carried) && other !== policy);
        return carried && holder ? [{ node, policy, taint, carried, holder }] : [];
      }),
  );
  const groups = Map.groupBy(held, ({ policy, holder, taint }) => `${policy.name} ${holder.name} ${identity(taint)}`);
  return [...groups.values()].flatMap((group) =>
    group.slice(0, 1).map(({ policy, taint, carried, holder }) => {
      const names = atMost(
        MAX_NAMED,
        group.map(({ node }) => node.name),
      ).join(', ');
      const evidence = `TaintPolicy ${policy.name} requires ${formatTaint(taint)}, and ${holder.name} protects ${formatTaint(carried)}, which these nodes carry: ${names}`;
      return finding(
        'problem',
        evidence,
        `let it leave out that taint, or those nodes: kubectl edit taintpolicy ${holder.name}`,
      );
    }),
  );
}

function holds(policy: CompiledTaintPolicy, { labels }: DoctorNode, taint: Taint): boolean {
  // A policy that requires the taint is reported as one of a pair.
  const requires = policy.required.some(({ value }) => identity(value.taint) === identity(taint));
  return policy.mode !== 'Audit' && !requires && policy.selectsNode(labels) && policy.protectedBy(taint) !== undefined;
}

function carriedBy({ taints }: DoctorNode, { key, effect }: Taint): Taint | undefined {
  const value = valuesOf(taints).get(identity({ key, effect }));
  return value === undefined ? undefined : { key, effect, value };
}
