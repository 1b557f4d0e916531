import type { PodObject } from '../../objects/pod-object.ts';
import type { ApiClient } from '../client/api-client.ts';
import { findObject } from '../client/find-object.ts';
import { namespacedPath } from '../client/object-path.ts';
import { ADMIN_PORT_NAME, OWN_LEASE } from '../installation/own-names.ts';
import { TAKEOVER_MS } from './leader-timings.ts';
import { replicaOf } from './leadership.ts';
import { holderOf, type Lease, leasePath } from './lease.ts';

/** The pod of the leader, and the port of its admin listener. */
export interface LeaderPod {
  readonly pod: string;
  readonly port: number;
}

/**
 * Finds the pod that holds the Lease. It needs the rights to `get` the Lease and the pod.
 * @throws ApiError; Error if no replica leads, or its pod does not exist or has no such port
 */
export async function findLeaderPod(client: ApiClient, namespace: string): Promise<LeaderPod> {
  const name = OWN_LEASE;
  const lease = await findObject<Lease>(client, leasePath(namespace, name));
  if (lease === undefined) {
    throw new Error(`there is no Lease ${namespace}/${name}; for another namespace of taintkeeper: --namespace`);
  }
  const holder = holderOf(lease);
  if (holder === undefined)
    throw new Error(`no replica leads (Lease ${namespace}/${name}); to see why: taintkeeper doctor`);
  const pod = replicaOf(holder);
  const path = namespacedPath('/api/v1', namespace, 'pods', pod);
  const found = await findObject<PodObject>(client, path);
  if (found === undefined) {
    const next = `after a crash, another replica leads within ${TAKEOVER_MS / 1_000} s. If none does: taintkeeper doctor`;
    throw new Error(`the leader's pod ${namespace}/${pod} does not exist; ${next}`);
  }
  const ports = (found.spec?.containers ?? []).flatMap(({ ports = [] }) => ports);
  const port = ports.find(({ name }) => name === ADMIN_PORT_NAME)?.containerPort;
  if (port === undefined) throw new Error(`the leader's pod ${namespace}/${pod} has no port named ${ADMIN_PORT_NAME}`);
  return { pod, port };
}
