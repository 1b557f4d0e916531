import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { isEnforced } from '../../policy/enforcement.ts';
import { atMost, count } from '../../text/counts.ts';
import { allow, type Decision, deny } from '../decision.ts';
import { removalOutcome } from '../outcomes.ts';
import type { Violation } from '../violation.ts';
import type { TooManyChanges } from './node-changes.ts';
import type { NodeUpdate } from './node-request.ts';

/** The most policies that a message names. */
const MAX_NAMED = 8;

/** Denies an update that changes too many taints to be judged, if an enforced policy may protect one that it removes. */
export function validateTooManyChanges(
  { node: { name }, requester }: NodeUpdate,
  { what, limit, mayRemove }: TooManyChanges,
  selecting: readonly CompiledTaintPolicy[],
): Decision<never> {
  const protecting = selecting.filter(
    (policy) => isEnforced(policy) && !policy.exempts(requester) && policy.protectionRules.length > 0,
  );
  if (mayRemove === 0 || protecting.length === 0) return allow([], [`node ${name}: ${what}; ${limit}`]);
  const subject = count(mayRemove, 'taint');
  const names = atMost(
    MAX_NAMED,
    protecting.map((policy) => `"${policy.name}"`),
  );
  return deny(
    `node ${name}: ${what}, and ${limit} where a TaintPolicy protects taints: ${names.join(', ')}. ` +
      'Change fewer taints in one update, or delete the node and restart its kubelet.',
    protecting.map(
      ({ name: policy, mode }): Violation => ({
        policyKind: 'TaintPolicy',
        policy,
        field: 'spec.taints',
        mode,
        ...removalOutcome('Denied'),
        subject,
      }),
    ),
  );
}
