import { policiesInForce } from '../../cluster/policy-object.ts';
import type { ClusterGrants } from '../../cluster/tolerate-grants.ts';
import { allRestrictedKeys } from '../../coverage/authorization.ts';
import { broadGrants, explainGrant } from '../../coverage/broad-grants.ts';
import { count, shellWord } from '../../kubernetes/text.ts';
import { type Finding, finding, needs } from '../check.ts';
import type { Facts } from '../facts.ts';

const MAX_NAMED = 5;

/** Finds bindings that allow a whole group, or a controller, to tolerate a key of a TolerationRestriction. The right of a controller has no effect. */
export function checkTolerateGrants({ policies, grants }: Pick<Facts, 'policies' | 'grants'>): readonly Finding[] {
  return needs({ policies, grants }, (known) =>
    known.grants === undefined
      ? [finding('ok', 'there are no TolerationRestrictions')]
      : checkGrants(allRestrictedKeys(policiesInForce(known.policies)), known.grants),
  );
}

function checkGrants(keys: readonly string[], { roles, bindings }: ClusterGrants): Finding[] {
  const found = broadGrants(keys, roles, bindings);
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
