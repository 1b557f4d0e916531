import { ownValue } from '../../kubernetes/label-selector.ts';
import { type ReadyCondition, statusOf } from '../../policy/ready-when.ts';
import type { NodeStatus } from '../node-view.ts';
import { type Blocker, unmet } from './blocker.ts';

/** The conditions of `readyWhen.conditions` that the node does not have with this status. An absent one never holds, whatever the status. */
export function conditionBlockers(awaited: readonly ReadyCondition[], { conditions = {} }: NodeStatus): Blocker[] {
  return awaited.flatMap((one) => {
    const status = ownValue(conditions, one.type);
    if (status === statusOf(one)) return [];
    const found = status === undefined ? 'the node does not have it' : `it is ${status}`;
    return unmet(`condition ${one.type}=${statusOf(one)}: ${found}`);
  });
}

/** The same where all of them hold. */
export function conditionText(awaited: readonly ReadyCondition[]): string[] {
  return awaited.map((one) => `condition ${one.type} is ${statusOf(one)}`);
}
