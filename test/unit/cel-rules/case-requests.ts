import type { Policy } from '../../../src/policy/policy.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TolerationPolicySpec } from '../../../src/policy/toleration-policy.ts';
import { developer } from '../../control-plane/users.ts';
import type { DaemonSetCase } from '../judge/request/daemon-set-cases.ts';
import type { UpdateCase } from '../judge/request/update-cases.ts';
import { DAEMON_SET_PLACES, type DaemonSetState, type NodeEdit, type NodeState, type Request } from './scenarios.ts';

/** An update of a case as a request about the first of the nodes. It adds one taint at most. */
export function updateRequest({ before, after, ...update }: UpdateCase['update']): {
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
  const { username: name = developer.name, groups = [] } = requester ?? {};
  return {
    node: { labels: oldLabels, taints: before, allowRemoval: oldAllowRemoval },
    request: { what: 'node update', node: 0, edit, user: { name, groups } },
  };
}

/** The request of a case, and the DaemonSets before it: one for each place, up to that of the request. */
export function daemonSetRequest({ daemonSet, before }: Pick<DaemonSetCase, 'daemonSet' | 'before'>): {
  readonly daemonSets: readonly DaemonSetState[];
  readonly request: Request;
} {
  const { namespace, name, generateName } = daemonSet;
  const place = DAEMON_SET_PLACES.findIndex((one) => one.namespace === namespace && one.name === name);
  if (place < 0) throw new Error(`${namespace}/${name} is none of the places`);
  const about = { place, state: daemonSet, user: developer };
  if (!before) {
    const creation = { what: 'DaemonSet creation', ...about, ...(generateName ? { generateName } : {}) } as const;
    return { daemonSets: [], request: creation };
  }
  return {
    daemonSets: DAEMON_SET_PLACES.slice(0, place + 1).map(() => before),
    request: { what: 'DaemonSet update', ...about },
  };
}

export function taintPolicies(specs: Readonly<Record<string, TaintPolicySpec>>): Policy[] {
  return Object.entries(specs).map(([name, spec]) => ({ kind: 'TaintPolicy', name, spec }));
}

export function tolerationPolicies(specs: Readonly<Record<string, TolerationPolicySpec>>): Policy[] {
  return Object.entries(specs).map(([name, spec]) => ({ kind: 'TolerationPolicy', name, spec }));
}
