import { readWebhooks } from '../admission-registration/webhook-configurations.ts';
import type { ApiClient, RequestOptions } from '../client/api-client.ts';
import { findObject } from '../client/find-object.ts';
import { OWN_CLUSTER_ROLE_BINDING } from './own-names.ts';

// Where taintkeeper is installed, by objects that only cluster administrators write. Every user who may create a Deployment in one namespace can
// give it the labels of taintkeeper.

const BINDING = `/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${OWN_CLUSTER_ROLE_BINDING}`;

/** The Service that the registered webhooks call. Undefined if none is registered. @throws ApiError, Error */
export async function calledService(
  client: Pick<ApiClient, 'request'>,
  options?: RequestOptions,
): Promise<{ namespace: string; name: string } | undefined> {
  const webhooks = await readWebhooks(client, options);
  return webhooks.map(({ clientConfig }) => clientConfig.service).find((service) => service !== undefined);
}

/** The namespaces of the ServiceAccounts that have taintkeeper's ClusterRole. @throws ApiError, Error */
export async function boundNamespaces(client: Pick<ApiClient, 'request'>, options?: RequestOptions): Promise<string[]> {
  const binding = await findObject<{ subjects?: readonly { kind: string; namespace?: string }[] }>(
    client,
    BINDING,
    options,
  );
  return (binding?.subjects ?? []).flatMap(({ kind, namespace }) =>
    kind === 'ServiceAccount' && namespace !== undefined ? [namespace] : [],
  );
}
