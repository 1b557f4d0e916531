import type { ApiClient } from './client/api-client.ts';
import { ApiError } from './client/api-error.ts';

const PATH = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

/**
 * The uid by which the API server knows us: for a service account, another one after each installation. Everybody may ask, unless a
 * cluster has taken that away.
 * @returns undefined for users that have none, such as those with client certificates, and where nobody may ask
 * @throws ApiError and others, as the client does
 */
export async function ownUid(client: ApiClient): Promise<string | undefined> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  try {
    const { status } = await client.request<{ status?: { userInfo?: { uid?: string } } }>('POST', PATH, { body });
    return status?.userInfo?.uid || undefined;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 403 || error.status === 404)) return undefined;
    throw error;
  }
}
