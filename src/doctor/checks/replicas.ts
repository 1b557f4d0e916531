import { OWN_LABEL } from '../../cluster/installation/own-names.ts';
import { formatLabels } from '../../kubernetes/label-selector.ts';
import { NETWORK_UNAVAILABLE_KEY } from '../../kubernetes/well-known-taints.ts';
import { isOnlyLoadable } from '../../scheduling/only-loadable.ts';
import { awaitedNodes, sharedNode } from '../../scheduling/replica-spread.ts';
import { atMost } from '../../text/counts.ts';
import { shellWord } from '../../text/printable.ts';
import { consequence, type Finding, finding } from '../check.ts';
import type { DoctorNode } from '../facts/doctor-node.ts';
import type { Facts } from '../facts/facts.ts';
import type { PodView, StartFailure } from '../facts/pod-view.ts';
import type { Readiness, ReplicaFacts } from '../facts/replica-facts.ts';
import { isExternal } from '../facts/service-facts.ts';
import { reinstall } from '../reinstall.ts';
import { deploymentOf } from '../restart.ts';

const MAX_NAMED = 5;

/** Checks that pods are ready. If one is ready, the others are a note. */
export function checkReplicas(
  facts: Pick<Facts, 'pods' | 'service' | 'installation' | 'replicas' | 'rejectedPods' | 'search' | 'nodes'>,
): Finding {
  const { pods, service, installation, replicas } = facts;
  const { namespace } = installation;
  if (!pods.ok) return finding('skipped', pods.why);
  if (service.ok && isExternal(service.value)) {
    return finding('skipped', 'the Service points outside the cluster: its pods are not known');
  }
  if (service.ok && service.value === undefined) return finding('skipped', 'see Service');
  const labels = formatLabels((service.ok && service.value?.spec?.selector) || {});
  if (pods.value.length === 0) {
    const evidence = `no pod in namespace ${namespace} has the labels of the Service (${labels || 'it selects nothing'})`;
    return consequence(whyNone(evidence, facts), (cause) => `${evidence}: see ${cause}`, ['Service']);
  }
  // The remedy is for the first one.
  const unready = pods.value
    .filter(({ isReady }) => !isReady)
    .toSorted((a, b) => Number(b.cannotStart !== undefined) - Number(a.cannotStart !== undefined));
  const ready = pods.value.length - unready.length;
  const evidence = `${ready} of ${pods.value.length} pods are ready`;
  const rejected = rejections(facts.rejectedPods);
  const clearing = `kubectl delete pods --namespace ${namespace} --field-selector=status.phase=Failed --selector=${shellWord(labels)}`;
  if (unready.length === 0) {
    if (rejected) return finding('note', `${evidence}; ${rejected}`, clearing);
    return crowded(evidence, facts) ?? finding('ok', evidence);
  }

  const reasons = unready.map(({ name, problem }) => ({
    name,
    problem,
    failures: problem ? [] : failuresOf(replicas.find((replica) => replica.pod?.name === name)),
  }));
  // A replica whose certificate is not valid is not ready. The cause is not the network.
  const isAboutTrust = reasons.every(({ failures: [first] }) => TRUST_CHECKS.includes(first?.name ?? ''));
  const told = atMost(
    MAX_NAMED,
    reasons.map(({ name, problem, failures }) => {
      const texts = failures.map((failure) => `${failure.name} failed: ${failure.detail}`);
      return `${name}: ${problem || texts.join(', ') || 'no reason given'}`;
    }),
  ).join('; ');
  // The readiness check `drain` of the last replica (src/replica/readiness.ts).
  const drained = unready.find((_pod, index) => reasons[index]?.failures[0]?.name === 'drain');
  const awaited = drained ? undefined : whatNodesLack(unready[0], facts);
  const result = finding(
    ready === 0 ? 'problem' : 'note',
    [evidence, told, awaited?.evidence, rejected].filter(Boolean).join('; '),
    drained
      ? `kubectl uncordon ${drained.node}`
      : (awaited?.remedy ?? remedyFor(unready[0]?.cannotStart, `--namespace ${namespace} ${unready[0]?.name}`)),
  );
  return isAboutTrust ? consequence(result, (cause) => `${evidence} (${told}): see ${cause}`) : result;
}

/** The kubelet's reason for a node without a CNI (`NetworkReady` of the container runtime). */
const NO_CNI = 'NetworkPluginNotReady';

/** What the nodes lack that an unscheduled pod waits for. Undefined if they are not the reason. */
function whatNodesLack(
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

/** A note if all replicas are on one node although another one could run one. None without the right to list nodes. */
function crowded(
  evidence: string,
  { pods, nodes, installation }: Pick<Facts, 'pods' | 'nodes' | 'installation'>,
): Finding | undefined {
  const shared = pods.ok && nodes.ok && pods.value.length > 1 ? sharedNode(pods.value, nodes.value) : undefined;
  if (!shared) return undefined;
  const others = atMost(MAX_NAMED, shared.others).join(', ');
  const told = `${evidence}, all on node ${shared.node}, whose failure would stop them; one could run on ${others}`;
  const command = `kubectl delete pod --namespace ${installation.namespace} ${shared.replica.name}`;
  const { image } = shared.replica;
  const loaded = new Set(
    nodes.ok ? nodes.value.filter(({ loadedImages }) => loadedImages?.includes(image)).map(({ name }) => name) : [],
  );
  // A node does not report all its images, so it may have the image without reporting it.
  const unsure = isOnlyLoadable(image) ? shared.others.filter((name) => !loaded.has(name)) : [];
  const loading =
    unsure.length === 0
      ? ''
      : `no registry has the image: if ${atMost(MAX_NAMED, unsure).join(' or ')} lacks it, first load it there; `;
  return finding('note', told, `${loading}${command}`);
}

function whyNone(evidence: string, { installation, search }: Pick<Facts, 'installation' | 'search'>): Finding {
  const { namespace, deployment } = installation;
  if (deployment?.replicas === 0) {
    const told = `${evidence}: Deployment ${namespace}/${deployment.name} is scaled to 0`;
    return finding(
      'problem',
      told,
      `kubectl scale --namespace ${namespace} ${deploymentOf(installation)} --replicas=2`,
    );
  }
  if (deployment) {
    const told = `${evidence}, though Deployment ${namespace}/${deployment.name} has ${deployment.replicas} replicas`;
    return finding('problem', told, `kubectl describe replicaset --namespace ${namespace} --selector=${OWN_LABEL}`);
  }
  if (search.blind === undefined) {
    return finding('problem', `${evidence}, and there is no Deployment`, reinstall(installation));
  }
  return finding('problem', evidence, `kubectl get deployment,pod --namespace ${namespace} --show-labels`);
}

function rejections(counts: ReadonlyMap<string, number>): string {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  if (total === 0) return '';
  return `${total} ${total === 1 ? 'other was' : 'others were'} rejected by their node (${[...counts.keys()].join(', ')})`;
}

function remedyFor(cause: StartFailure | undefined, pod: string): string {
  const describe = `kubectl describe pod ${pod}`;
  switch (cause) {
    case 'image':
      return `its node cannot get the image: push it to a registry that the node reaches, or load it onto the node; ${describe}`;
    case 'crash':
      return `kubectl logs --previous ${pod}`;
    case 'configuration':
    case 'unscheduled':
      return describe;
    default:
      return `${describe}; kubectl logs ${pod}`;
  }
}

/** The readiness checks about trust, whose cause another check reports (src/replica/readiness.ts). */
const TRUST_CHECKS = ['certificate', 'webhooks'];

function failuresOf(replica: ReplicaFacts | undefined): Readiness['failures'] {
  return replica?.readiness.ok ? replica.readiness.value.failures : [];
}
