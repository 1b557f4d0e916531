import { ownValue } from '../../kubernetes/label-selector.ts';
import { NEW_ROLE, OLD_ROLE } from '../../kubernetes/roles.ts';
import { atMost, count } from '../../text/counts.ts';
import { shellWord } from '../../text/printable.ts';
import { type Finding, finding, needs } from '../check.ts';
import type { Facts } from '../facts/facts.ts';

const MAX_NAMED = 5;

/**
 * Checks that nodes with an API server have the role of the control plane. A Node that is deleted comes back as a worker: its kubelet registers it
 * again, and only kubeadm sets label and taint, when it joins the node.
 */
export function checkControlPlane({
  nodes,
  apiServerPods,
}: Pick<Facts, 'nodes' | 'apiServerPods'>): readonly Finding[] {
  return needs({ nodes, apiServerPods }, ({ nodes, apiServerPods }) => {
    const byName = new Map(nodes.map((node) => [node.name, node]));
    const running = apiServerPods.flatMap((pod) => {
      const node = byName.get(pod.node);
      return node
        ? [{ ...pod, hasRole: [NEW_ROLE, OLD_ROLE].some((role) => ownValue(node.labels, role) !== undefined) }]
        : [];
    });
    const withoutRole = running.filter(({ hasRole }) => !hasRole);
    const namesOf = (pods: typeof withoutRole) => pods.map(({ node }) => node);
    const results = [
      ...problemOf(namesOf(withoutRole.filter(({ kubeadm }) => kubeadm))),
      ...noteOn(namesOf(withoutRole.filter(({ kubeadm }) => !kubeadm))),
    ];
    if (results.length > 0) return results;
    if (running.length === 0) return [finding('ok', 'no node runs an API server as a static pod')];
    const verbs = running.length === 1 ? ['runs', 'has'] : ['run', 'have'];
    return [
      finding(
        'ok',
        `${count(running.length, 'node')} ${verbs[0]} an API server, and ${verbs[1]} the role of the control plane`,
      ),
    ];
  });
}

function problemOf(nodes: readonly string[]): Finding[] {
  const [first] = nodes;
  if (first === undefined) return [];
  const evidence = `${lacking(nodes)}, so other pods can be scheduled there: ${deleted(nodes)}`;
  return [
    finding(
      'problem',
      evidence,
      `on a control-plane node: kubeadm init phase mark-control-plane --node-name ${shellWord(first)}`,
    ),
  ];
}

/** Other programs may mark the nodes of a control plane by a label of their own. */
function noteOn(nodes: readonly string[]): Finding[] {
  if (nodes.length === 0) return [];
  const names = nodes.map(shellWord).join(' ');
  return [
    finding(
      'note',
      `${lacking(nodes)}: ${deleted(nodes)}`,
      `if the other control-plane nodes have it: kubectl label node ${names} ${NEW_ROLE}=`,
    ),
  ];
}

function lacking(nodes: readonly string[]): string {
  const [run, lack] = nodes.length === 1 ? ['runs', 'lacks'] : ['run', 'lack'];
  return `${atMost(MAX_NAMED, nodes).join(', ')} ${run} an API server and ${lack} label ${NEW_ROLE}`;
}

function deleted(nodes: readonly string[]): string {
  return nodes.length === 1 ? 'its Node may have been deleted' : 'their Nodes may have been deleted';
}
