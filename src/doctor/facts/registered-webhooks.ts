import {
  ADMISSION_REGISTRATION_V1_PATH,
  CONFIGURATIONS,
} from '../../cluster/admission-registration/webhook-configurations.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { listObjects } from '../../cluster/list/list-objects.ts';

/** A webhook of a Mutating- or ValidatingWebhookConfiguration. The API server has filled in all defaults. */
export interface RegisteredWebhook {
  readonly name: string;
  readonly clientConfig?: {
    readonly service?: { readonly namespace: string; readonly name: string };
    readonly url?: string;
  };
  readonly rules?: readonly WebhookRule[] | null;
  readonly failurePolicy?: string;
  readonly timeoutSeconds?: number;
  readonly objectSelector?: object | null;
  readonly matchConditions?: readonly unknown[] | null;
}

export interface WebhookRule {
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  readonly operations?: readonly string[];
  readonly scope?: string;
}

export interface RegisteredConfiguration {
  readonly resource: 'mutatingwebhookconfigurations' | 'validatingwebhookconfigurations';
  readonly name: string;
  readonly webhooks: readonly RegisteredWebhook[];
}

/**
 * All webhook configurations of the cluster.
 * @throws ApiError, Error
 */
export async function listConfigurations(client: ApiClient): Promise<RegisteredConfiguration[]> {
  const lists = Object.values(CONFIGURATIONS).map(({ resource }) =>
    listObjects(client, `${ADMISSION_REGISTRATION_V1_PATH}/${resource}`, (object): RegisteredConfiguration => {
      const { metadata, webhooks } = object as {
        metadata: { name: string };
        webhooks?: readonly RegisteredWebhook[] | null;
      };
      return { resource, name: metadata.name, webhooks: webhooks ?? [] };
    }),
  );
  return (await Promise.all(lists)).flat();
}
