import type { Command } from 'commander';
import type { SecretRef } from '../../cluster/certificates/certificate-secret.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { OWN_SERVICE } from '../../cluster/installation/own-names.ts';
import { serverName } from '../../cluster/installation/service-ref.ts';
import { atCluster, CLUSTER_OPTIONS, type ClusterOptions, namespaceFor } from '../cluster-options.ts';

/** The certificates of one taintkeeper in a cluster. */
export interface Site {
  readonly client: ApiClient;
  readonly ref: SecretRef;
  /** The names that the serving certificate must have. */
  readonly names: readonly string[];
}

/** Adds the options that name the cluster, and taintkeeper's namespace. */
export function withClusterOptions(command: Command): Command {
  return command
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context())
    .addOption(CLUSTER_OPTIONS.namespace());
}

/**
 * Runs the work, and closes the connections. Refusals of the cluster, and missing answers, become an InputError.
 * @param options.secret the Secret with the certificates
 */
export function atSite(
  options: ClusterOptions & { readonly secret: string },
  work: (site: Site) => Promise<void>,
): Promise<void> {
  return atCluster(options, (client) => {
    const namespace = namespaceFor(options, client);
    const service = { namespace, name: OWN_SERVICE };
    return work({ client, ref: { namespace, name: options.secret }, names: [serverName(service)] });
  });
}
