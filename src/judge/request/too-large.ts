import { isEnforced } from '../../policy/enforcement.ts';
import type { PolicySet } from '../../policy/policy-set.ts';
import { allow, type Decision, deny, type Judge } from '../decision.ts';

/** The object of a review that is too large to parse. */
export interface TooLarge {
  readonly kind?: string | undefined;
  readonly name?: string | undefined;
  /** The limits of a review that is parsed, in words. */
  readonly limits: string;
}

/**
 * The decision about a request whose review is too large to parse. Its labels, its taints and its user are not known.
 *
 * Validation gets updates of a Node that violate a policy, or that end a startup taint by a change of labels, and registrations without a taint that a
 * policy sets. Match conditions that had to be widened (`webhooks/node-entries.ts`) send more. Validation denies all of them if a policy is enforced.
 * Mutation gets requests of exempt users, too, so it allows all of them: validation decides about the others. A DaemonSet passes, because a missing
 * toleration does less harm than a DaemonSet that cannot be changed.
 */
export const judgeTooLarge: Judge<TooLarge, PolicySet, never> = {
  mutate: (subject) => allowUnchecked(subject),
  validate: (subject, { taintPolicies }) =>
    subject.kind === 'Node' && taintPolicies.some(isEnforced) ? denyUnchecked(subject) : allowUnchecked(subject),
};

function allowUnchecked({ kind = 'object', name }: TooLarge): Decision<never> {
  return allow([], [`taintkeeper cannot check ${kind}${name ? ` ${name}` : ''}: its review is too large`]);
}

function denyUnchecked({ name, limits }: TooLarge): Decision<never> {
  const remedy = name
    ? `Find what fills the Node: kubectl get node ${name} -o json. Remove that, and try again`
    : 'Make the Node smaller';
  return deny(
    `node ${name ?? '(without a name)'}: the request is denied, because its review is too large to check: ` +
      `it has more than ${limits}. ${remedy}`,
    [],
  );
}
