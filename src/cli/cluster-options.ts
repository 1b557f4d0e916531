import { Option } from 'commander';
import { type ApiClient, connect, type UserClient } from '../cluster/client/api-client.ts';
import { isNotServed } from '../cluster/client/api-error.ts';
import type { ClusterChoice } from '../cluster/client/kube-config.ts';
import { OWN_NAMESPACE } from '../cluster/installation/own-names.ts';
import { listPolicies } from '../cluster/policies/policies.ts';
import type { PolicyObject } from '../cluster/policies/policy-object.ts';
import { InputError } from '../files/text-files.ts';
import type { PolicyKind } from '../policy/policy.ts';
import { VERSION } from '../version.ts';

/** The cluster, and where taintkeeper is in it. */
export interface ClusterOptions extends ClusterChoice {
  readonly namespace?: string;
}

export const CLUSTER_OPTIONS = {
  kubeconfig: () =>
    new Option(
      '--kubeconfig <file>',
      "how to reach the cluster (default: KUBECONFIG, the pod's service account, ~/.kube/config)",
    ),
  context: () => new Option('--context <name>', 'a context of the kubeconfig (default: the current one)'),
  namespace: () =>
    new Option('-n, --namespace <name>', "taintkeeper's namespace (default: taintkeeper; in a pod, the pod's own)"),
} as const;

/**
 * A client for the cluster that the options name, and taintkeeper's namespace in it. Nothing is sent yet.
 * @throws InputError
 */
export async function openCluster(options: ClusterOptions): Promise<{ client: ApiClient; namespace: string }> {
  const client = await open(options);
  return { client, namespace: namespaceFor(options, client) };
}

/** taintkeeper's namespace. */
export function namespaceFor({ namespace }: Pick<ClusterOptions, 'namespace'>, client: ApiClient): string {
  return namespace ?? client.namespace ?? OWN_NAMESPACE;
}

function open({ kubeconfig, context }: ClusterChoice): Promise<UserClient> {
  return connect({ kubeconfig, context, userAgent: `taintkeeper/${VERSION}` });
}

/**
 * Runs the work with a client, and closes it. Refusals of the cluster, and missing answers, become an InputError.
 * @param options.namesServer whether its message begins with the URL of the API server
 * @throws InputError
 */
export async function atCluster<T>(
  choice: ClusterChoice,
  work: (client: UserClient) => Promise<T>,
  { namesServer = false } = {},
): Promise<T> {
  const client = await open(choice);
  try {
    return await work(client);
  } catch (error) {
    throw asInputError(error, namesServer ? client.server : undefined);
  } finally {
    client.close();
  }
}

/**
 * The error to throw for an error of a cluster: an InputError if the cluster refuses or does not answer, else the error itself.
 * @param server the cluster, if the message has to name it
 */
function asInputError(error: unknown, server: string | undefined): unknown {
  const isOurs = error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
  if (isOurs || error instanceof InputError) return error;
  const { message } = error as Error;
  return new InputError([server === undefined ? message : `${server}: ${message}`]);
}

/**
 * The policies of these kinds in the cluster.
 * @throws InputError if taintkeeper is not installed, ApiError
 */
export async function installedPolicies(client: ApiClient, ...kinds: readonly PolicyKind[]): Promise<PolicyObject[]> {
  const lists = kinds.map(async (kind) => {
    try {
      return await listPolicies(client, [kind]);
    } catch (error) {
      if (!isNotServed(error)) throw error;
      throw new InputError([`the cluster has no ${kind.replace(/y$/, 'ies')}: taintkeeper is not installed there`]);
    }
  });
  return (await Promise.all(lists)).flat();
}
