import { Document, type YAMLMap } from 'yaml';
import { POLICY_API_VERSION, type TaintPolicy } from '../policy/policy.ts';
import type { TaintRule } from '../policy/taint-rule.ts';
import { printable } from '../text/printable.ts';
import { KUBECTL_YAML, yamlText } from './printed-data.ts';

/** The policy as `kubectl apply` takes it. */
export function manifestOf({ kind, name, spec }: TaintPolicy) {
  return { apiVersion: POLICY_API_VERSION, kind, metadata: { name }, spec };
}

/** The policies as one object for `kubectl apply`: a List for several, and for none. */
export function policiesAsObject(policies: readonly TaintPolicy[]): object {
  const items = policies.map(manifestOf);
  const [only, ...others] = items;
  return only && others.length === 0 ? only : { apiVersion: 'v1', kind: 'List', items };
}

/**
 * The policy as YAML for `kubectl apply`, with comments.
 * @param notes the lines above it
 * @param notesOnRule the lines above a rule of `spec.taints`; none: no comment
 */
export function policyText(
  policy: TaintPolicy,
  notes: readonly string[],
  notesOnRule: (rule: TaintRule, index: number) => readonly string[],
): string {
  const document = new Document(manifestOf(policy), KUBECTL_YAML);
  document.commentBefore = commentText(notes);
  for (const [index, rule] of policy.spec.taints.entries()) {
    const lines = notesOnRule(rule, index);
    if (lines.length === 0) continue;
    const item = document.getIn(['spec', 'taints', index], true) as YAMLMap;
    item.commentBefore = commentText(lines);
  }
  return yamlText(document);
}

/** Lines of a comment, as the yaml package takes them: texts of other users end no line. */
function commentText(lines: readonly string[]): string {
  return lines.map((line) => ` ${printable(line)}`).join('\n');
}
