import type { ApiClient } from './client/api-client.ts';

/** Who the API server takes the caller for. */
export interface Caller {
  readonly username: string;
  /** For a service account, another one after each installation; users with client certificates have none. */
  readonly uid: string | undefined;
  readonly groups: readonly string[];
}

/**
 * Who we are. Every user may ask, unless a cluster has taken that away.
 * @throws ApiError and others, as the client does
 */
export async function whoAmI(client: ApiClient): Promise<Caller> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const { status } = await client.request<{ status?: { userInfo?: Partial<Caller> } }>('POST', path, { body });
  const { username = '', uid, groups = [] } = status?.userInfo ?? {};
  return { username, uid: uid || undefined, groups };
}

/** What a user may be allowed. */
export interface Access {
  readonly verb: string;
  /** '' for the core group. */
  readonly group: string;
  /** With the subresource: `pods/eviction`. */
  readonly resource: string;
  /** Undefined for all of them. */
  readonly name?: string | undefined;
  /** Undefined for what is in no namespace, or in all. */
  readonly namespace?: string | undefined;
}

export interface Subject {
  readonly user: string;
  readonly groups: readonly string[];
}

const AUTHORIZATION = 'authorization.k8s.io/v1';

/**
 * Asks the API server whether the subject is allowed something; without a subject, whether we are.
 * @throws ApiError and others, as the client does
 */
export async function isAllowed(client: ApiClient, access: Access, subject?: Subject): Promise<boolean> {
  const { verb, group, resource: path, name, namespace } = access;
  const [resource, subresource] = path.split('/');
  const resourceAttributes = { verb, group, resource, subresource, name, namespace };
  const kind = subject ? 'SubjectAccessReview' : 'SelfSubjectAccessReview';
  const body = { apiVersion: AUTHORIZATION, kind, spec: { resourceAttributes, ...subject } };
  const answer = await client.request<{ status?: { allowed?: boolean } }>(
    'POST',
    `/apis/${AUTHORIZATION}/${kind.toLowerCase()}s`,
    { body },
  );
  return answer.status?.allowed ?? false;
}
