import type { ApiClient, UserClient } from '../../cluster/client/api-client.ts';
import { hostOf } from '../../cluster/installation/service-endpoint.ts';
import { serverName } from '../../cluster/installation/service-ref.ts';
import type { InstallationChoice, Search } from './choose-installation.ts';
import { gatherCluster } from './cluster-facts.ts';
import { clockAhead, type Dialled, dial } from './dial.ts';
import type { Facts } from './facts.ts';
import { findInstallation } from './find-installation.ts';
import { gatherInstallation, type InstallationFacts } from './installation-facts.ts';
import { calledPort, listedReplicas } from './listed-replicas.ts';
import { recogniserFor } from './recognition.ts';
import { ANSWER_TIMEOUT_MS, probeReplica, type ReplicaFacts, type Sockets } from './replica-facts.ts';

/** Problems show on a few replicas already. */
const MAX_REPLICAS = 20;

/** If the API server does not answer this, it does not answer the other requests. */
const VERSION_TIMEOUT_MS = 5_000;

/** So many connections over the Service probably reach each of two or three replicas. */
const SERVICE_DIALS = 4;

const SERVICE_LIMITS = { connectMs: 1_000, answerMs: ANSWER_TIMEOUT_MS };

/** The result if no installation was found. */
export type NoInstallation = { readonly search: Search; readonly installation: undefined };

/**
 * Finds the installation, and reads all facts that the checks need. A failed read is part of the result.
 * @throws Error if the API server cannot be reached, or does not authenticate the user
 */
export async function gatherFacts(
  client: UserClient,
  sockets: Sockets,
  choice: InstallationChoice,
): Promise<Facts | NoInstallation> {
  // First and alone, so that the Date of its answer is exact.
  const apiServerAheadMs = await apiServerClock(client);
  const search = await findInstallation(client, choice);
  const installation = search.chosen;
  if (installation === undefined) return { search, installation };
  const { namespace } = installation;
  const name = serverName({ namespace, name: installation.service });
  const [installed, cluster] = await Promise.all([
    gatherInstallation(client, installation).then(probeAll),
    gatherCluster(client, installation),
  ]);
  return {
    search,
    installation,
    ...installed,
    ...cluster,
    serverName: name,
    apiServerUrl: client.server,
    now: new Date(),
    apiServerAheadMs,
  };

  async function probeAll(
    facts: InstallationFacts,
  ): Promise<InstallationFacts & { replicas: readonly ReplicaFacts[]; overService: readonly Dialled[] }> {
    const listed = listedReplicas(facts).slice(0, MAX_REPLICAS);
    const recognise = recogniserFor(facts);
    const callers = { client, sockets, namespace, serverName: name, recognise };
    const spec = facts.service.ok ? facts.service.value?.spec : undefined;
    const host = spec && hostOf(spec);
    const line = host === undefined ? undefined : { host, port: calledPort(facts) };
    const dials = line ? Array.from({ length: SERVICE_DIALS }, () => dial(line, name, SERVICE_LIMITS)) : [];
    const [replicas, overService] = await Promise.all([
      Promise.all(listed.map((replica) => probeReplica(replica, callers))),
      Promise.all(dials),
    ]);
    return {
      ...facts,
      replicas,
      overService: overService.map((one) => recognise(one, `${host}:${calledPort(facts)}`)),
    };
  }
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
