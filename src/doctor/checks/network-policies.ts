import { WEBHOOK_PORT_NAME } from '../../cluster/installation/own-names.ts';
import { groupsBy } from '../../collections/groups-by.ts';
import { type Finding, finding, needs } from '../check.ts';
import type { Facts } from '../facts/facts.ts';
import { type Ingress, ingressTo, type NetworkPolicyObject } from '../facts/network-policy.ts';
import type { ReplicaFacts } from '../facts/replica-facts.ts';

interface PodIngress extends Ingress {
  readonly name: string;
  readonly port: number;
}

/**
 * Reports what NetworkPolicies say about the webhook's port, for each pod: a rollout can change their labels. It is never a problem, because not every
 * CNI enforces them.
 */
export function checkNetworkPolicies({ networkPolicies, replicas }: Facts): readonly Finding[] {
  return needs({ networkPolicies }, (known) => ingressToPods(replicas, known.networkPolicies));
}

function ingressToPods(replicas: readonly ReplicaFacts[], all: readonly NetworkPolicyObject[]): Finding[] {
  const pods = replicas.flatMap(({ name, port, pod }): PodIngress[] =>
    pod ? [{ name, port, ...ingressTo(pod.labels, { number: port, name: WEBHOOK_PORT_NAME }, all) }] : [],
  );
  if (pods.length === 0) return [finding('skipped', 'no pod to check')];
  // Groups the pods with the same result. The text has no names, so that it is equal for them.
  const groups = groupsBy(pods, (pod) => judge([pod], true).evidence);
  return groups.map((group) => judge(group, groups.length === 1));
}

/** @param isEach whether all pods are in this group, so that none is named */
function judge(group: readonly [PodIngress, ...PodIngress[]], isEach: boolean): Finding {
  const [{ access, policies, port }] = group;
  const names = group.map(({ name }) => name).join(', ');
  const ofPods = isEach ? '' : ` of ${names}`;
  const by = policies.join(', ');
  if (policies.length === 0) return finding('ok', `none selects ${isEach ? 'the pods' : names}`);
  switch (access) {
    case 'open':
      return finding('ok', `${by}: all clients may connect to port ${port}${ofPods}`);
    case 'limited':
      return finding(
        'note',
        `${by}: only some clients may connect to port ${port}${ofPods}; the API server must be one of them`,
      );
    case 'closed':
      return finding(
        'note',
        `${by}: no client may connect to port ${port}${ofPods}; it works only as long as the CNI does not enforce that`,
      );
  }
}
