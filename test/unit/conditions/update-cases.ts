import type { Policy } from '../../../src/policy/policy.ts';
import type { UpdateCase } from '../judge/request/update-cases.ts';
import type { NodeEdit, NodeState, Request } from './scenarios.ts';

/** An update of a case as a request about the first of the nodes. It adds one taint at most. */
export function requestOf({ before, after, ...update }: UpdateCase['update']): {
  readonly node: NodeState;
  readonly request: Request;
} {
  const { oldLabels = {}, newLabels = oldLabels, oldAllowRemoval, newAllowRemoval, requester } = update;
  const added = after.filter((taint) => !before.includes(taint));
  if (added.length > 1) throw new Error('a request adds one taint at most');
  const edit: NodeEdit = {
    labels: newLabels,
    allowRemoval: newAllowRemoval,
    stay: before.reduce((bits, taint, index) => bits | (after.includes(taint) ? 1 << index : 0), 0),
    added: added[0],
  };
  const { username: name = 'dev@example.com', groups = [] } = requester ?? {};
  return {
    node: { labels: oldLabels, taints: before, allowRemoval: oldAllowRemoval },
    request: { what: 'node update', node: 0, edit, user: { name, groups } },
  };
}

export function policiesOf({ policies }: Pick<UpdateCase, 'policies'>): Policy[] {
  return Object.entries(policies).map(([name, spec]) => ({ kind: 'TaintPolicy', name, spec }));
}
