import { NETWORK_UNAVAILABLE_KEY } from '../../../kubernetes/well-known-taints.ts';
import { awaitedNodes } from '../../../scheduling/replica-spread.ts';
import { atMost } from '../../../text/counts.ts';
import { shellWord } from '../../../text/printable.ts';
import type { DoctorNode } from '../../facts/doctor-node.ts';
import type { Facts } from '../../facts/facts.ts';
import type { PodView } from '../../facts/pod-view.ts';

const MAX_NAMED = 5;

/** The kubelet's reason for a node without a CNI (`NetworkReady` of the container runtime). */
const NO_CNI = 'NetworkPluginNotReady';

/** What the nodes lack that an unscheduled pod waits for. Undefined if they are not the reason. */
export function whatNodesLack(
  pod: PodView | undefined,
  { nodes }: Pick<Facts, 'nodes'>,
): { readonly evidence: string; readonly remedy: string } | undefined {
  if (pod?.cannotStart !== 'unscheduled' || !nodes.ok) return undefined;
  const awaited = awaitedNodes(pod, nodes.value);
  const isWithoutCni = ({ notReady = '' }: DoctorNode) => notReady.includes(NO_CNI);
  const isInSetUp = ({ taints }: DoctorNode) => taints.some(({ key }) => key === NETWORK_UNAVAILABLE_KEY);
  const named = (some: readonly DoctorNode[]) =>
    `${atMost(
      MAX_NAMED,
      some.map(({ name }) => name),
    ).join(', ')} ${some.length === 1 ? 'waits' : 'wait'}`;
  const withoutCni = awaited.filter(isWithoutCni);
  const [first] = withoutCni;
  if (first?.notReady !== undefined) {
    const toleration = 'a toleration of node.kubernetes.io/not-ready:NoSchedule (the installation guide, Environments)';
    const way = pod.hostNetwork ? `add ${toleration}` : `use the chart's preset host-network.yaml, with ${toleration}`;
    return {
      evidence: `${named(withoutCni)} for a CNI: ${first.notReady.split(':')[0]}`,
      remedy: `install the CNI. If it needs tolerations from taintkeeper, taintkeeper must run first: ${way}`,
    };
  }
  const inSetUp = awaited.filter(isInSetUp);
  if (inSetUp.length > 0) {
    return {
      evidence: `${named(inSetUp)} for ${inSetUp.length === 1 ? 'its' : 'their'} network: taint ${NETWORK_UNAVAILABLE_KEY}`,
      remedy: `the CNI, or the route controller of the cloud, removes the taint: see its log. If it waits for taintkeeper, use the chart's preset host-network.yaml, which tolerates ${NETWORK_UNAVAILABLE_KEY}:NoSchedule`,
    };
  }
  const [other] = awaited;
  if (!other) return undefined;
  return {
    evidence: `${other.name} is not Ready${other.notReady ? `: ${other.notReady}` : ''}`,
    remedy: `kubectl describe node ${shellWord(other.name)}`,
  };
}
