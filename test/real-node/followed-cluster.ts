import { type ApiClient, connect } from '../../src/cluster/client/api-client.ts';
import { admin } from '../control-plane/users.ts';
import { type RealCluster, type RealClusterOptions, startRealCluster } from './real-cluster.ts';

/** A real cluster, with what watches of it need. */
export interface FollowedCluster {
  readonly cluster: RealCluster;
  readonly client: ApiClient;
  /** Ends the watches. */
  readonly signal: AbortSignal;
}

/** Starts a cluster, and ends it if `begin` fails. The result of `begin` gets what ends the watches and the cluster. */
export async function startFollowedCluster<Started extends object>(
  options: RealClusterOptions,
  begin: (followed: FollowedCluster) => Promise<Started>,
): Promise<Started & { stop(): Promise<void> }> {
  const cluster = await startRealCluster(options);
  const stopping = new AbortController();
  let client: ApiClient | undefined;
  const stop = async () => {
    stopping.abort();
    client?.close();
    await cluster.stop();
  };
  try {
    client = await connect({ kubeconfig: await cluster.kubeconfigFile(admin), userAgent: 'real-node-test' });
    // Not a copy: it may have accessors.
    return Object.assign(await begin({ cluster, client, signal: stopping.signal }), { stop });
  } catch (error) {
    await stop();
    throw error;
  }
}
