import type { ApiClient } from '../client/api-client.ts';
import { ApiError } from '../client/api-error.ts';

/** Whether some process holds the Lease, or held it when it ended without giving it up. */
export async function isLed(client: ApiClient, namespace: string, lease: string): Promise<boolean> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${lease}`;
  try {
    const { spec } = await client.request<{ spec?: { holderIdentity?: string } }>('GET', path);
    return Boolean(spec?.holderIdentity);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}
