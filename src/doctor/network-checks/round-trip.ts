import { alike } from '../alike.ts';
import type { CheckResult } from '../check.ts';
import { type ConnectionFault, FAULT_MEANINGS, type FaultKind } from '../connection-fault.ts';
import type { Facts } from '../facts.ts';
import { ingressTo } from '../network-policy.ts';
import type { ReplicaFacts } from '../replica-facts.ts';
import { causeAmong } from './causes.ts';

const AREA = { area: 'network', name: 'round trip' } as const;

/** One review, there and back. */
type Trip =
  | { readonly outcome: 'answered'; readonly who: 'the API server' | 'this machine' }
  | { readonly outcome: 'failed'; readonly who: 'the API server' | 'this machine'; readonly fault: ConnectionFault };

/**
 * Whether each replica answers a review over TLS: to the API server, whose way is the one that counts, or else to us.
 * @param earlier what keeps replicas from answering, whatever the network does
 */
export function checkRoundTrip(facts: Facts, earlier: readonly CheckResult[]): CheckResult {
  const { replicas } = facts;
  if (replicas.length === 0) return { ...AREA, state: 'skipped', evidence: 'there is no replica to be called' };
  // A pod that is not ready gets no calls: of it the other checks tell.
  const called = replicas.filter(({ pod, endpoint }) => pod?.isReady ?? endpoint?.isReady ?? false);
  if (called.length === 0) return { ...AREA, state: 'skipped', evidence: 'no replica is ready' };
  const trips = called.map((replica) => ({ replica, trip: tripTo(replica) }));
  const failed = trips.flatMap(({ replica, trip }) => (trip.outcome === 'failed' ? [{ replica, ...trip }] : []));
  const [first] = failed;
  if (!first) {
    const askers = [...new Set(trips.map(({ trip }) => trip.who))].join(' and ');
    return {
      ...AREA,
      state: 'ok',
      evidence: `${trips.length === 1 ? '1 replica answers' : `${trips.length} replicas answer`} a review of ${askers}`,
    };
  }
  const cause = causeAmong(earlier);
  if (cause !== undefined) return { ...AREA, state: 'skipped', evidence: cause };
  const told = alike(
    failed,
    ({ who, fault }) => `${who} ${fault.kind}`,
    (group) => {
      const called = group.map(({ replica: { name, address, port } }) => `${name} (${address}:${port})`).join(', ');
      return `${group[0].who} calls ${called}: ${FAULT_MEANINGS[group[0].fault.kind]} (${group[0].fault.message})`;
    },
  );
  // Packets that are dropped from here alone say nothing of the API server's way.
  const isOurWay = failed.every(
    ({ who, fault }) => who === 'this machine' && ['silent', 'unreachable'].includes(fault.kind),
  );
  const isOut = facts.service.ok && facts.service.value?.spec?.type === 'ExternalName';
  if (isOurWay && !isOut) {
    return {
      ...AREA,
      state: 'skipped',
      evidence: `${told}; that is usual outside of the cluster, and you may not have the API server call pods (pods/proxy)`,
    };
  }
  return {
    ...AREA,
    state: 'trouble',
    evidence: told,
    remedy: REMEDIES[first.fault.kind](first.replica, facts),
  };
}

function tripTo({ reached, dialled }: ReplicaFacts): Trip {
  if (reached.ok) return { ...reached.value, who: 'the API server' };
  if (dialled.outcome === 'failed') return { outcome: 'failed', who: 'this machine', fault: dialled.fault };
  const { refusal } = dialled.greeting;
  return refusal === undefined
    ? { outcome: 'answered', who: 'this machine' }
    : { outcome: 'failed', who: 'this machine', fault: { kind: 'other', message: refusal } };
}

const REMEDIES: Readonly<Record<FaultKind, (replica: ReplicaFacts, facts: Facts) => string>> = {
  refused: processRemedy,
  closed: processRemedy,
  other: processRemedy,
  stranger: processRemedy,
  certificate: processRemedy,
  silent: wayRemedy,
  unreachable: wayRemedy,
};

function processRemedy({ name }: ReplicaFacts, { site: { namespace } }: Facts): string {
  return `the process is gone, or listens elsewhere: kubectl logs --namespace ${namespace} ${name} --previous; kubectl delete pod --namespace ${namespace} ${name}`;
}

/** Who does answer us, and who may keep the API server's packets. */
function wayRemedy({ name, port, pod, dialled, way }: ReplicaFacts, { networkPolicies, site }: Facts): string {
  const policies =
    pod && networkPolicies.ok
      ? ingressTo(pod.labels, { number: port, name: 'webhook' }, networkPolicies.value)
      : undefined;
  if (policies && policies.access !== 'open') {
    return `NetworkPolicy ${policies.policies.join(', ')} does not let everybody connect to port ${port}: kubectl describe networkpolicy --namespace ${site.namespace}`;
  }
  if (dialled.outcome === 'failed') {
    return `it does not answer us either: does the process hang (kubectl logs --namespace ${site.namespace} ${name}), or does the CNI drop packets to its node?`;
  }
  return `it answers us (${way}), so the way from the API server is closed: open port ${port} from the control plane to the nodes (GKE, EKS: a firewall rule or security group), or run the replicas in the nodes' network: manifests/chart/presets/host-network.yaml`;
}
