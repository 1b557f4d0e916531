import { REMEMBERED_ANNOTATION, settledOn } from './memory.ts';
import type { NodeView } from './node.ts';
import { isPattern } from './pattern.ts';
import type { Policy } from './policy.ts';
import type { CompiledTaintPolicy } from './policy-set.ts';
import { formatProblem, type Problem } from './problem.ts';
import { SETTLE_SECONDS, waitsToSettle } from './settle-seconds.ts';
import { droppedTaints, formatTaint } from './taint.ts';
import type { TaintPolicySpec, TaintRule } from './taint-policy.ts';

/** What the author of a valid policy should know of each key that means every taint. */
export function wildcardNotes(policy: Policy): string[] {
  return notesOf(policy, (rule, spec) => (/^\*+$/.test(rule.key) ? noteOf(rule, spec) : undefined));
}

/** Where no leader runs. */
export function wildcardNotesWithoutLeader(policy: Policy): string[] {
  return notesOf(policy, (rule, spec) =>
    waitsToSettle(rule, spec, spec.mode)
      ? `protects nothing here: which taints have settled, only taintkeeper in a cluster writes down. Set settleSeconds: 0, and name in except what a node has to lose`
      : undefined,
  );
}

/** Which taints an update takes off a node that would be protected, had they settled. */
export function notesOfUnsettled(
  oldNode: NodeView,
  node: NodeView,
  policies: readonly CompiledTaintPolicy[],
): string[] {
  const isSettled = settledOn(oldNode.remembered);
  const selecting = policies.filter((policy) => policy.selectsNode(oldNode.labels) || policy.selectsNode(node.labels));
  return droppedTaints(oldNode.taints, node.taints).flatMap((taint) =>
    selecting.flatMap((policy) => {
      const field = policy.protectedBy(taint);
      if (field === undefined || policy.heldBy(taint, isSettled) !== undefined) return [];
      return [
        `taint ${formatTaint(taint)} may go: TaintPolicy ${policy.name} (${field}) protects it once ${REMEMBERED_ANNOTATION} lists it`,
      ];
    }),
  );
}

function noteOf(rule: TaintRule, spec: TaintPolicySpec): string {
  const seconds = spec.settleSeconds ?? SETTLE_SECONDS;
  if (spec.mode === 'Audit') {
    return `means every taint: those are reported, too, that Deny or Restore would let go, as they have not stayed for ${seconds} s`;
  }
  return waitsToSettle(rule, spec, spec.mode)
    ? `means every taint that has stayed on a Ready node for ${seconds} s: name in except what somebody takes off later than that`
    : 'means every taint at once, also one that a node has to lose before it is of use: name those in except';
}

function notesOf(policy: Policy, note: (rule: TaintRule, spec: TaintPolicySpec) => string | undefined): string[] {
  if (policy.kind !== 'TaintPolicy') return [];
  const { spec } = policy;
  return spec.taints.flatMap((rule, index) => {
    const text = isPattern(rule.key) ? note(rule, spec) : undefined;
    const path: Problem['path'] = ['spec', 'taints', index, 'key'];
    return text === undefined ? [] : [formatProblem({ path, message: `"${rule.key}" ${text}` })];
  });
}
