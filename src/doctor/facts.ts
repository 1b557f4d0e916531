import type { ApiClient } from '../cluster/client/api-client.ts';
import { serverName } from '../cluster/service-endpoint.ts';
import { type Admission, tryAdmission } from './admission-facts.ts';
import { clockAhead, type Dialled, dial } from './dial.ts';
import { gatherInstallation, type InstallationFacts, type Site } from './installation-facts.ts';
import type { Reading } from './reading.ts';
import { callOn, type ReplicaFacts, type Sockets } from './replica-facts.ts';
import { calledPort, listReplicas } from './replicas.ts';

/** All that the checks go by: it is gathered once, and nothing else is asked for. */
export interface Facts extends InstallationFacts {
  readonly site: Site;
  /** The name that the API server asks for in the TLS handshake. */
  readonly serverName: string;
  /** This machine's clock. */
  readonly now: Date;
  /** How far the API server's clock is ahead of this machine's, in milliseconds. */
  readonly apiServerAheadMs: number | undefined;
  readonly replicas: readonly ReplicaFacts[];
  /** Who answers at the Service's own address, by several connections: each may lead to another replica. */
  readonly overService: readonly Dialled[];
  readonly admission: Reading<Admission>;
}

/** Of a few replicas everything is said; hundreds would be dialled for nothing. */
const MAX_REPLICAS = 20;

/** Whoever gets no answer to this gets none to anything. */
const VERSION_TIMEOUT_MS = 5_000;

/** Enough to meet each of two or three replicas. */
const SERVICE_DIALS = 4;

const SERVICE_TIMEOUT_MS = 1_000;

/** @throws Error when the API server cannot be reached, or does not know who asks */
export async function gatherFacts(client: ApiClient, sockets: Sockets, site: Site): Promise<Facts> {
  // First of all, and alone: its answer is there at once, and its Date fresh.
  const apiServerAheadMs = await apiServerClock(client);
  const name = serverName({ namespace: site.namespace, name: site.service });
  const [[installation, replicas, overService], admission] = await Promise.all([
    gatherInstallation(client, site).then(async (found) => {
      const listed = listReplicas(found).slice(0, MAX_REPLICAS);
      const callers = { client, sockets, namespace: site.namespace, serverName: name };
      const calls = Promise.all(listed.map((replica) => callOn(replica, callers)));
      const host = addressOf(found);
      const line = host === undefined ? undefined : { host, port: calledPort(found) };
      const dials = Array.from(
        { length: line ? SERVICE_DIALS : 0 },
        () => line && dial(line, name, SERVICE_TIMEOUT_MS),
      );
      const over = (await Promise.all(dials)).filter((one) => one !== undefined);
      return [found, await calls, over] as const;
    }),
    tryAdmission(client, site.namespace),
  ]);
  return {
    ...installation,
    site,
    serverName: name,
    now: new Date(),
    apiServerAheadMs,
    replicas,
    overService,
    admission,
  };
}

/** Inside of the cluster its address answers at once, and outside of it never, unless it is a name. */
function addressOf({ service }: InstallationFacts): string | undefined {
  const { type, externalName, clusterIP } = (service.ok ? service.value?.spec : undefined) ?? {};
  const address = type === 'ExternalName' ? externalName : clusterIP;
  return address === undefined || address === '' || address === 'None' ? undefined : address;
}

async function apiServerClock(client: ApiClient): Promise<number | undefined> {
  let ahead: number | undefined;
  await client.request('GET', '/version', {
    timeoutMs: VERSION_TIMEOUT_MS,
    onHeaders: ({ date }) => {
      ahead = clockAhead(date);
    },
  });
  return ahead;
}

/** The time by the clock of who checks the certificates: the API server's. */
export function trustedTime({ now, apiServerAheadMs = 0 }: Pick<Facts, 'now' | 'apiServerAheadMs'>): Date {
  return new Date(now.getTime() + apiServerAheadMs);
}
