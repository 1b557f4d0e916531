import { InvalidArgumentError, Option } from 'commander';
import { type ApiClient, connect } from '../cluster/client/api-client.ts';
import type { ClusterChoice } from '../cluster/client/kube-config.ts';
import { VERSION } from '../version.ts';

/** What tells where in which cluster taintkeeper is. */
export interface ClusterOptions extends ClusterChoice {
  readonly namespace?: string;
  readonly service: string;
  readonly secret: string;
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
  service: () =>
    new Option('--service <name>', 'the Service by which the API server reaches taintkeeper').default('taintkeeper'),
  secret: () => new Option('--secret <name>', 'the Secret with the certificates').default('taintkeeper-certs'),
} as const;

/**
 * A client for the cluster that the options name, and taintkeeper's namespace in it. Nothing is sent yet.
 * @throws InputError
 */
export async function openCluster(
  options: Pick<ClusterOptions, 'kubeconfig' | 'context' | 'namespace'>,
): Promise<{ client: ApiClient; namespace: string }> {
  const client = await connect({
    kubeconfig: options.kubeconfig,
    context: options.context,
    userAgent: `taintkeeper/${VERSION}`,
  });
  return { client, namespace: options.namespace ?? client.namespace ?? 'taintkeeper' };
}

const MAX_SECONDS = 30 * 86_400;

/** @throws InvalidArgumentError */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d+$/.test(text) && seconds <= MAX_SECONDS) return seconds;
  throw new InvalidArgumentError(`Expected whole seconds, at most ${MAX_SECONDS}.`);
}
