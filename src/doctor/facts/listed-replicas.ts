import { type EndpointSlice, isReadyEndpoint, podOf } from '../../cluster/installation/endpoint-slices.ts';
import { WEBHOOK_PORT_NAME } from '../../cluster/installation/own-names.ts';
import { groupsBy } from '../../collections/groups-by.ts';
import { isDnsSubdomain } from '../../kubernetes/names.ts';
import { DEFAULT_PORTS } from '../../server/default-ports.ts';
import { hostPort } from './dial.ts';
import { type InstallationFacts, isExternal, type ServiceObject } from './installation-facts.ts';
import type { PodView } from './pod-view.ts';

/** A replica, as its pod and the EndpointSlices describe it. */
export interface ListedReplica {
  /** The pod's name, or the address if no pod is known. */
  readonly name: string;
  /** The pod's name, if the pod is known or an EndpointSlice names it. */
  readonly podName: string | undefined;
  /** Several in a dual-stack cluster, the one of the pod's primary address family first. */
  readonly addresses: readonly string[];
  /** The port that the pod declares, else the port of the EndpointSlice. */
  readonly port: number;
  /** Its entry in an EndpointSlice. Undefined if it is in none. */
  readonly endpoint: { readonly port: number; readonly isReady: boolean } | undefined;
  readonly pod: PodView | undefined;
}

/** The API server calls this port if the client configuration of a webhook has none. */
const DEFAULT_SERVICE_PORT = 443;

/** The Service's port that the API server calls. All registered webhooks have the same. */
export function calledPort({ webhooks }: Pick<InstallationFacts, 'webhooks'>): number {
  const [first] = webhooks.ok ? webhooks.value : [];
  return first?.clientConfig.service?.port ?? DEFAULT_SERVICE_PORT;
}

/** All endpoints of the Service, and the pods that it selects and that are not among its endpoints. */
export function listedReplicas(facts: InstallationFacts): ListedReplica[] {
  const service = facts.service.ok ? facts.service.value : undefined;
  const pods = facts.pods.ok ? facts.pods.value : [];
  const port = calledPort(facts);
  if (isExternal(service)) {
    const address = service?.spec?.externalName ?? '';
    const endpoint = { port, isReady: true };
    return [{ name: address, podName: undefined, addresses: [address], port, endpoint, pod: undefined }];
  }
  const slices = facts.slices.ok ? facts.slices.value : [];
  const listed = ofSlices(slices, portName(service, port), pods);
  const named = new Set(listed.map(({ name }) => name));
  const others = pods
    .filter((pod) => pod.ip !== undefined && !named.has(pod.name))
    .map((pod) => ({
      name: pod.name,
      podName: pod.name,
      addresses: [pod.ip ?? ''],
      port: pod.ports.get(WEBHOOK_PORT_NAME) ?? DEFAULT_PORTS.webhook,
      endpoint: undefined,
      pod,
    }));
  return [...listed, ...others];
}

/** The name of the Service's port, which is also the name of the slice's. '' if it has none. */
function portName(service: ServiceObject | undefined, port: number): string {
  return service?.spec?.ports?.find((one) => one.port === port)?.name ?? '';
}

/** One for each pod: of a dual-stack Service, a slice of each address family names it. */
function ofSlices(slices: readonly EndpointSlice[], name: string, pods: readonly PodView[]): ListedReplica[] {
  const listedEndpoints = slices.flatMap(({ ports, endpoints }) => {
    const port = ports?.find((one) => (one.name ?? '') === name)?.port;
    if (port === undefined) return [];
    // The meaning of further addresses is not defined (EndpointSlice of discovery.k8s.io/v1).
    return (endpoints ?? []).flatMap((endpoint) =>
      endpoint.addresses.slice(0, 1).map((address) => ({ endpoint, address, port })),
    );
  });
  const groups = groupsBy(
    listedEndpoints,
    ({ endpoint: { targetRef }, address }) => targetRef?.uid ?? targetRef?.name ?? address,
  );
  return groups.map((group) => {
    const [first] = group;
    const named = podOf(first.endpoint);
    const pod = pods.find((one) => (named === undefined ? one.ip === first.address : one.name === named));
    const podName = pod?.name ?? (named !== undefined && isDnsSubdomain(named) ? named : undefined);
    const addresses = [...new Set(group.map(({ address }) => address))];
    const isReady = group.some(({ endpoint }) => isReadyEndpoint(endpoint));
    return {
      name: podName ?? hostPort(first.address, first.port),
      podName,
      addresses: addresses.toSorted((a, b) => Number(b === pod?.ip) - Number(a === pod?.ip)),
      port: pod?.ports.get(WEBHOOK_PORT_NAME) ?? first.port,
      endpoint: { port: first.port, isReady },
      pod,
    };
  });
}
