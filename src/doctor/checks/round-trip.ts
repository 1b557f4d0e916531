import { WEBHOOK_PORT_NAME } from '../../cluster/installation/own-names.ts';
import { atMost } from '../../text/counts.ts';
import { shellWord } from '../../text/printable.ts';
import { consequence, type Finding, finding } from '../check.ts';
import { describeGroups } from '../describe-groups.ts';
import { type ConnectionFault, FAULT_MEANINGS, type FaultKind, hostPort } from '../facts/dial.ts';
import type { Facts } from '../facts/facts.ts';
import { isExternal } from '../facts/installation-facts.ts';
import { ingressTo } from '../facts/network-policy.ts';
import type { ReplicaFacts } from '../facts/replica-facts.ts';

/** The outcome of one review, and its client. */
type Trip =
  | { readonly outcome: 'answered'; readonly who: 'the API server' | 'this machine' }
  | { readonly outcome: 'failed'; readonly who: 'the API server' | 'this machine'; readonly fault: ConnectionFault };

/** Checks that each replica answers a review over TLS: one of the API server if possible, else one of this machine. */
export function checkRoundTrip(facts: Facts): Finding {
  const { replicas } = facts;
  if (replicas.length === 0) return finding('skipped', 'no replica to call');
  // A pod that is not ready gets no calls. Other checks report it.
  const ready = replicas.filter(({ pod, endpoint }) => pod?.isReady ?? endpoint?.isReady ?? false);
  if (ready.length === 0) return finding('skipped', 'no replica is ready');
  const trips = ready.map((replica) => ({ replica, trip: tripTo(replica) }));
  const failed = trips.flatMap(({ replica, trip }) => (trip.outcome === 'failed' ? [{ replica, ...trip }] : []));
  const [first] = failed;
  if (!first) {
    const askers = [...new Set(trips.map(({ trip }) => trip.who))].join(' and ');
    return finding(
      'ok',
      `${trips.length === 1 ? '1 replica answers' : `${trips.length} replicas answer`} a review from ${askers}`,
    );
  }
  const told = describeGroups(
    failed,
    ({ who, fault }) => `${who} ${fault.kind}`,
    (group) => {
      const names = group.map(({ replica }) => calledName(replica)).join(', ');
      return `${group[0].who} calls ${names}: ${FAULT_MEANINGS[group[0].fault.kind]} (${group[0].fault.message})`;
    },
  );
  // That this machine does not reach the pods says nothing about the API server.
  const isOurWay = failed.every(
    ({ who, fault }) => who === 'this machine' && ['silent', 'unreachable', 'foreign'].includes(fault.kind),
  );
  const isOut = facts.service.ok && isExternal(facts.service.value);
  const result =
    isOurWay && !isOut
      ? finding(
          'skipped',
          `${told}; that is usual outside the cluster, and the API server could not call the pods (pods/proxy)`,
        )
      : finding('problem', told, REMEDIES[first.fault.kind](first.replica, facts));
  return consequence(result, (cause) => `see ${cause}`);
}

function tripTo({ reached, dialled }: ReplicaFacts): Trip {
  if (reached.ok) return { ...reached.value, who: 'the API server' };
  if (dialled.outcome === 'failed') return { outcome: 'failed', who: 'this machine', fault: dialled.fault };
  const { refusal } = dialled.greeting;
  return refusal === undefined
    ? { outcome: 'answered', who: 'this machine' }
    : { outcome: 'failed', who: 'this machine', fault: { kind: 'other', message: refusal } };
}

/** The address that is called, and its pod, if that is known. */
function calledName({ podName, address, port }: ReplicaFacts): string {
  const at = hostPort(address, port);
  return podName === undefined ? at : `${podName} (${at})`;
}

const REMEDIES: Readonly<Record<FaultKind, (replica: ReplicaFacts, facts: Facts) => string>> = {
  refused: (replica, facts) =>
    withCommands('the process has ended, or listens elsewhere', ['logs --previous', 'delete pod'], replica, facts),
  closed: logRemedy,
  other: logRemedy,
  stranger: logRemedy,
  certificate: logRemedy,
  silent: wayRemedy,
  unreachable: wayRemedy,
  foreign: ({ address, port }) =>
    `find out what answers at ${hostPort(address, port)}, such as a transparent proxy, or run doctor where pods are reached directly`,
};

/** For faults that do not tell whether the process still runs. */
function logRemedy(replica: ReplicaFacts, facts: Facts): string {
  return withCommands('see what its log says about the call', ['logs'], replica, facts);
}

/** Adds the commands of kubectl for the pod, if the pod is known. */
function withCommands(
  words: string,
  commands: readonly string[],
  { podName }: ReplicaFacts,
  { installation: { namespace } }: Facts,
): string {
  if (podName === undefined) return words;
  return `${words}: ${commands.map((command) => `kubectl ${command} --namespace ${namespace} ${podName}`).join('; ')}`;
}

/** What may block the API server, by whether the replica answers this machine. */
function wayRemedy(replica: ReplicaFacts, facts: Facts): string {
  const { port, pod, dialled, way } = replica;
  const { networkPolicies, installation } = facts;
  const policies =
    pod && networkPolicies.ok
      ? ingressTo(pod.labels, { number: port, name: WEBHOOK_PORT_NAME }, networkPolicies.value)
      : undefined;
  if (policies && policies.access !== 'open') {
    return `NetworkPolicy ${policies.policies.join(', ')} restricts connections to port ${port}: kubectl describe networkpolicy --namespace ${installation.namespace}`;
  }
  const log = withCommands('see its log', ['logs'], replica, facts);
  const hangs = `it does not answer this machine either: check whether the process hangs (${log})`;
  const open = `open port ${port} from the control plane to the nodes (GKE, EKS: a firewall rule or security group), or run the replicas in the nodes' network, with the chart's preset host-network.yaml`;
  const cni = cniCommand(replica);
  if (cni !== undefined) {
    const otherwise = dialled.outcome === 'failed' ? hangs : open;
    return `check whether the CNI's network to node ${pod?.node} works. See ${cni}, and its pod on the control-plane node. If the CNI works: ${otherwise}`;
  }
  return dialled.outcome === 'failed'
    ? `${hangs}, and whether the CNI loses packets to its node`
    : `it answers this machine (${way}), so the path from the API server is blocked: ${open}`;
}

/** The commands that show the log of the CNI on the node of a replica. Undefined if no pod of it is known there. */
function cniCommand({ cniPods }: ReplicaFacts): string | undefined {
  const pods = cniPods?.ok ? cniPods.value : [];
  if (pods.length === 0) return undefined;
  const commands = pods
    .toSorted((a, b) => Number(a.isReady) - Number(b.isReady))
    .map(
      ({ namespace, name, isReady }) =>
        `kubectl logs --namespace ${shellWord(namespace)} ${shellWord(name)} --all-containers${isReady ? '' : ' (not Ready)'}`,
    );
  return atMost(MAX_CNI_PODS, commands).join('; ');
}

/** Several plugins can share a node, such as Multus beside the CNI. */
const MAX_CNI_PODS = 3;
