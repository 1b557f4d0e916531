import { allRestrictedKeys } from '../../coverage/authorization.ts';
import { broadGrants, explainGrant } from '../../coverage/broad-grants.ts';
import { count, shellWord } from '../../kubernetes/text.ts';
import { type Finding, finding, unread } from '../check.ts';
import { policiesInForce } from '../cluster-facts.ts';
import type { Facts } from '../facts.ts';

const MAX_NAMED = 5;

/** Whether a binding lets a whole group tolerate a key of a TolerationRestriction, or a controller, whose right does not count. */
export function checkTolerateGrants({ policies, grants }: Pick<Facts, 'policies' | 'grants'>): Finding[] {
  const skipped = unread(policies, grants);
  if (skipped || !policies.ok || !grants.ok) return skipped ? [skipped] : [];
  if (grants.value === undefined) return [finding('ok', 'there are no TolerationRestrictions')];
  const keys = allRestrictedKeys(policiesInForce(policies.value));
  const found = broadGrants(keys, grants.value.roles, grants.value.bindings);
  if (found.length === 0) {
    return [finding('ok', `no binding lets a whole group or a controller tolerate ${keys.join(', ')}`)];
  }
  const named = found.slice(0, MAX_NAMED).map((grant) => {
    const { effect, remedy } = explainGrant(grant);
    return finding('note', effect, `${remedy}: kubectl edit clusterrolebinding ${shellWord(grant.binding)}`);
  });
  const others = found.length - named.length;
  if (others === 0) return named;
  const all = 'taintkeeper coverage tolerations';
  return [...named, finding('note', `${count(others, 'more grant')} to a whole group or a controller`, all)];
}
