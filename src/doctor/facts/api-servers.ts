import { isIP } from 'node:net';
import type { ApiClient, UserClient } from '../../cluster/client/api-client.ts';
import { ApiError } from '../../cluster/client/api-error.ts';
import { isReadyEndpoint, listEndpointSlices } from '../../cluster/installation/endpoint-slices.ts';
import { messageOf } from '../../runtime/error-message.ts';
import { hostPort } from './dial.ts';
import { type Reading, read, unreadable } from './reading.ts';
import { type Admission, sendTrial } from './send-trial.ts';
import type { Trial } from './trial.ts';

/**
 * The Service through which pods reach the API servers. Each API server adds its own address to the endpoints
 * (k8s.io/kubernetes/pkg/controlplane/controller/kubernetesservice), with a port of this name.
 */
const SERVICE = { namespace: 'default', name: 'kubernetes' };
const PORT_NAME = 'https';

/**
 * The name by which pods may call the Service, so that the certificate of each API server has it. The address would not do: the CA of a cluster
 * may also issue certificates for the addresses of nodes, to their kubelets.
 */
const SERVER_NAME = 'kubernetes.default.svc';

/** More API servers are not asked. */
const MAX_API_SERVERS = 9;

/** One of several API servers, called at its own address. */
export interface ApiServer {
  /** Address and port. */
  readonly address: string;
  /** What became of a dry-run request there. Undefined if this machine got no answer from the address. */
  readonly admission: Reading<Admission> | undefined;
  /** Why there was no answer. */
  readonly silence?: string;
}

/**
 * Sends the dry-run request to each API server of the cluster at its own address: the one that answers `client` may be any of them. None is asked
 * if there is only one, because `client` has asked it.
 * @returns empty if the Service shows one address, as that of some providers does for all API servers
 */
export async function askApiServers(client: UserClient, trial: Trial): Promise<Reading<readonly ApiServer[]>> {
  return read(async () => {
    const addresses = addressesIn(await listEndpointSlices(client, SERVICE));
    if (addresses.length < 2) return [];
    return Promise.all(addresses.slice(0, MAX_API_SERVERS).map((address) => ask(client, address, trial)));
  });
}

function addressesIn(slices: Awaited<ReturnType<typeof listEndpointSlices>>): string[] {
  const hostPorts = slices.flatMap(({ ports, endpoints }) => {
    const port = ports?.find(({ name }) => name === PORT_NAME)?.port;
    if (port === undefined) return [];
    return (endpoints ?? [])
      .filter(isReadyEndpoint)
      .flatMap(({ addresses: [host = ''] }) => (isIP(host) === 0 ? [] : hostPort(host, port)));
  });
  return [...new Set(hostPorts)].sort();
}

/** An API server that answers nothing within this time counts as not reachable from here, which is normal outside the cluster. */
const REACH_TIMEOUT_MS = 3_000;

async function ask(client: UserClient, address: string, trial: Trial): Promise<ApiServer> {
  let own: ApiClient | undefined;
  try {
    own = client.at({ address, serverName: SERVER_NAME });
    await own.request('GET', '/version', { timeoutMs: REACH_TIMEOUT_MS });
    return { address, admission: await sendTrial(own, trial) };
  } catch (error) {
    if (error instanceof ApiError) return { address, admission: unreadable(error) };
    return { address, admission: undefined, silence: messageOf((error as Error).cause ?? error) };
  } finally {
    own?.close();
  }
}
