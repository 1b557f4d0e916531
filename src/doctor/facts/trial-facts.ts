import type { ApiClient, UserClient } from '../../cluster/client/api-client.ts';
import { type PolicyObject, policiesInForce } from '../../cluster/policies/policy-object.ts';
import { whoAmI } from '../../cluster/rights/access-review.ts';
import { type ApiServer, askApiServers } from './api-servers.ts';
import { allRead, type Reading, read, readingOf } from './reading.ts';
import { type Admission, sendTrial } from './send-trial.ts';
import { findTrial, type NodeLike, type Trial } from './trial.ts';

export interface TrialFacts {
  /** What became of a dry-run request that the webhook should answer. */
  readonly admission: Reading<Admission>;
  /** The same for each API server at its own address. Empty if there is one only, or nothing to try. */
  readonly apiServers: Reading<readonly ApiServer[]>;
}

interface TrialReadings {
  readonly policies: Reading<readonly PolicyObject[]>;
  readonly nodes: Reading<readonly NodeLike[]>;
}

/** Finds a {@link Trial} in the objects of the cluster, and sends it. */
export async function gatherTrial(client: UserClient, namespace: string, readings: TrialReadings): Promise<TrialFacts> {
  const trial = await trialFor(client, namespace, readings);
  if (!trial.ok) return { admission: trial, apiServers: trial };
  if (!trial.value) return { admission: readingOf({ outcome: 'nothing to try' }), apiServers: readingOf([]) };
  const [admission, apiServers] = await Promise.all([
    sendTrial(client, trial.value),
    askApiServers(client, trial.value),
  ]);
  return { admission, apiServers };
}

async function trialFor(
  client: ApiClient,
  namespace: string,
  readings: TrialReadings,
): Promise<Reading<Trial | undefined>> {
  const material = allRead({ ...readings, requester: await read(() => whoAmI(client)) });
  if (!material.ok) return material;
  const { policies, nodes, requester } = material.value;
  return readingOf(findTrial({ policies: policiesInForce(policies), nodes, requester, namespace }));
}
