import type { EndpointSliceObject, InstallationFacts, ServiceObject } from './installation-facts.ts';
import type { PodView } from './pod-view.ts';

/** A replica as the cluster knows it. */
export interface Listed {
  /** The pod's name, or the address where there is no pod. */
  readonly name: string;
  readonly address: string;
  /** Where it says that it listens; where it does not, where the Service leads to. */
  readonly port: number;
  /** Where the Service leads to, and whether it does now; undefined if the replica is in no EndpointSlice. */
  readonly endpoint: { readonly port: number; readonly isReady: boolean } | undefined;
  readonly pod: PodView | undefined;
}

/** What the chart calls the container's port. */
const WEBHOOK_PORT = 'webhook';
/** What `serve` listens on, and API servers call, unless told otherwise. */
const DEFAULT_POD_PORT = 8443;
const DEFAULT_SERVICE_PORT = 443;

/** The Service's port that the API server calls: that of the registered webhooks, all of which have the same. */
export function calledPort({ webhooks }: Pick<InstallationFacts, 'webhooks'>): number {
  const [first] = webhooks.ok ? webhooks.value : [];
  return first?.clientConfig.service?.port ?? DEFAULT_SERVICE_PORT;
}

/** Everybody behind the Service, and the pods that it selects and does not lead to. */
export function listReplicas(facts: InstallationFacts): Listed[] {
  const service = facts.service.ok ? facts.service.value : undefined;
  const pods = facts.pods.ok ? facts.pods.value : [];
  const port = calledPort(facts);
  if (service?.spec?.type === 'ExternalName') {
    const address = service.spec.externalName ?? '';
    return [{ name: address, address, port, endpoint: { port, isReady: true }, pod: undefined }];
  }
  const slices = facts.slices.ok ? facts.slices.value : [];
  const listed = slices.flatMap((slice) => ofSlice(slice, portName(service, port), pods));
  const named = new Set(listed.map(({ name }) => name));
  const others = pods
    .filter((pod) => pod.ip !== undefined && !named.has(pod.name))
    .map((pod) => ({
      name: pod.name,
      address: pod.ip ?? '',
      port: pod.ports.get(WEBHOOK_PORT) ?? DEFAULT_POD_PORT,
      endpoint: undefined,
      pod,
    }));
  return [...listed, ...others];
}

/** The name of the Service's port, by which a slice knows its own; '' is the name of one without. */
function portName(service: ServiceObject | undefined, port: number): string {
  return service?.spec?.ports?.find((one) => one.port === port)?.name ?? '';
}

function ofSlice({ ports, endpoints }: EndpointSliceObject, name: string, pods: readonly PodView[]): Listed[] {
  const port = ports?.find((one) => (one.name ?? '') === name)?.port;
  if (port === undefined) return [];
  return (endpoints ?? []).flatMap(({ addresses, conditions, targetRef }) => {
    const [address] = addresses;
    if (address === undefined) return [];
    const pod = pods.find((one) => (targetRef?.name === undefined ? one.ip === address : one.name === targetRef.name));
    // No condition means ready (discovery.k8s.io/v1).
    const endpoint = { port, isReady: conditions?.ready ?? true };
    return [
      { name: pod?.name ?? `${address}:${port}`, address, port: pod?.ports.get(WEBHOOK_PORT) ?? port, endpoint, pod },
    ];
  });
}
