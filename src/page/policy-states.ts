import { stringify } from 'yaml';
import type { PolicyObject } from '../cluster/policies.ts';
import { modeOf, type Policy } from '../policy/policy.ts';
import type { PolicyStatus } from '../policy/policy-status.ts';
import { formatProblem } from '../policy/problem.ts';
import type { PolicyState } from './state.ts';

/** The policies of files: whatever is wrong with a file is told by the checks. */
export function filedPolicyStates(policies: readonly Policy[], audit: boolean): PolicyState[] {
  return sorted(policies.map((policy) => ({ ...inForce(policy, audit), violators: [], conditions: [] })));
}

/** The policies of a cluster, with the status that the leader has written last. */
export function clusterPolicyStates(objects: readonly PolicyObject[], audit: boolean): PolicyState[] {
  return sorted(
    objects.map(({ kind, name, result, inForce: used, status }) => {
      const { matched, violating, violators = [], conditions = [] } = (status ?? {}) as PolicyStatus;
      return {
        ...(used ? inForce(used.policy, audit) : { kind, name, spec: '' }),
        ...(result.ok
          ? { valid: true, problems: [] }
          : {
              valid: false,
              problems: result.problems.map(formatProblem),
              ...(used ? { generationInForce: used.generation } : {}),
            }),
        ...(matched === undefined ? {} : { matched }),
        ...(violating === undefined ? {} : { violating }),
        violators,
        conditions: conditions.map(({ type, status, reason, message, lastTransitionTime: since }) => ({
          type,
          status,
          reason,
          message,
          since,
        })),
      };
    }),
  );
}

/** Of policies that are asked about again and again. */
const specs = new WeakMap<Policy, string>();

function inForce(policy: Policy, audit: boolean): Omit<PolicyState, 'violators' | 'conditions'> {
  const { kind, name } = policy;
  const spec = specs.get(policy) ?? stringify(policy.spec);
  specs.set(policy, spec);
  return { kind, name, mode: audit ? 'Audit' : modeOf(policy), valid: true, problems: [], spec };
}

function sorted(states: readonly PolicyState[]): PolicyState[] {
  const keyOf = ({ kind, name }: PolicyState) => `${kind}/${name}`;
  return states.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}
