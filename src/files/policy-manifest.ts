import { printable } from '../kubernetes/text.ts';
import { POLICY_API_VERSION, type TaintPolicy } from '../policy/policy.ts';

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

/** Lines of a comment, as the yaml package takes them: texts of other users end no line. */
export function commentText(lines: readonly string[]): string {
  return lines.map((line) => ` ${printable(line)}`).join('\n');
}
