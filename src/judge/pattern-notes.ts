import { formatTaint, removedTaints } from '../kubernetes/taint.ts';
import type { Policy } from '../policy/policy.ts';
import { type CompiledTaintPolicy, ONCE_ESTABLISHED } from '../policy/policy-set.ts';
import { formatProblem, type Problem } from '../policy/problem.ts';
import { ESTABLISHED_AFTER_SECONDS, type TaintPolicySpec, waitsForEstablishment } from '../policy/taint-policy.ts';
import { restricts, type TaintRule } from '../policy/taint-rule.ts';
import { policiesOnUpdate } from './node-update.ts';
import type { NodeView, NodeWithRecord } from './node-view.ts';

/** Notes for the author of a valid policy on each key that matches every taint. */
export function patternNotes(policy: Policy): string[] {
  return notesOf(policy, (rule, spec) => (/^\*+$/.test(rule.key) ? noteOf(rule, spec) : undefined));
}

/** The same on each pattern, if no leader runs. */
export function patternNotesWithoutLeader(policy: Policy): string[] {
  return notesOf(policy, (rule, spec) =>
    waitsForEstablishment(rule, spec.mode)
      ? `protects no taint here, because only taintkeeper in a cluster records which taints are established: name each key`
      : undefined,
  );
}

/** Notes on the taints that an update removes, and that a pattern would protect if they were established. */
export function notesNotEstablished(
  oldNode: NodeWithRecord,
  node: NodeView,
  policies: readonly CompiledTaintPolicy[],
): string[] {
  const selecting = policiesOnUpdate({ oldNode, node }, policies);
  return removedTaints(oldNode.taints, node.taints).flatMap((taint) =>
    selecting.flatMap((policy) => {
      const field = policy.removalRestrictedBy(taint, ONCE_ESTABLISHED);
      if (field === undefined || policy.removalRestrictedBy(taint, oldNode.established) !== undefined) return [];
      return [
        `taint ${formatTaint(taint)} may be removed: TaintPolicy ${policy.name} (${field}) protects it only once the NodeTaintRecord of the node lists it`,
      ];
    }),
  );
}

function noteOf(rule: TaintRule, spec: TaintPolicySpec): string {
  if (!waitsForEstablishment(rule, spec.mode)) {
    return `matches every taint: also reports taints that have been on the node for less than ${ESTABLISHED_AFTER_SECONDS} s, which Deny and Restore do not protect yet`;
  }
  return `matches every taint that has stayed on a Ready node for ${ESTABLISHED_AFTER_SECONDS} s: list in except the taints that are removed later than that`;
}

function notesOf(policy: Policy, note: (rule: TaintRule, spec: TaintPolicySpec) => string | undefined): string[] {
  if (policy.kind !== 'TaintPolicy') return [];
  const { spec } = policy;
  return spec.taints.flatMap((rule, index) => {
    const text = restricts(rule, 'Removal') ? note(rule, spec) : undefined;
    const path: Problem['path'] = ['spec', 'taints', index, 'key'];
    return text === undefined ? [] : [formatProblem({ path, message: `"${rule.key}" ${text}` })];
  });
}
