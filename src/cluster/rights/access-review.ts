import type { OptionalRight } from '../../policy/required-rights.ts';
import type { ApiClient } from '../client/api-client.ts';
import { isForbidden, isNotServed } from '../client/api-error.ts';
import { OPTIONAL_RIGHTS, type Rule } from './rights.ts';

/** The caller's identity for the API server. */
export interface Caller {
  readonly username: string;
  /** A service account has another one after each installation. Users with client certificates have none. */
  readonly uid: string | undefined;
  readonly groups: readonly string[];
}

/**
 * The identity of this process. Every user may ask, unless a cluster has removed that right.
 * @throws ApiError and others, as the client does
 */
export async function whoAmI(client: ApiClient): Promise<Caller> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const { status } = await client.request<{ status?: { userInfo?: Partial<Caller> } }>('POST', path, { body });
  const { username = '', uid, groups = [] } = status?.userInfo ?? {};
  return { username, uid: uid || undefined, groups };
}

/** A right. */
export interface Access {
  readonly verb: string;
  /** '' for the core group. */
  readonly group: string;
  /** With the subresource: `pods/eviction`. */
  readonly resource: string;
  /** Undefined for all objects. */
  readonly name?: string | undefined;
  /** Undefined for cluster-scoped objects, or all namespaces. */
  readonly namespace?: string | undefined;
}

export interface AccessSubject {
  readonly user: string;
  readonly groups: readonly string[];
}

const AUTHORIZATION = 'authorization.k8s.io/v1';

/**
 * Asks the API server whether the subject has a right; without a subject, whether this process has it.
 * @throws ApiError and others, as the client does
 */
export async function isAllowed(client: ApiClient, access: Access, subject?: AccessSubject): Promise<boolean> {
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

/**
 * The uid of this process' user: a service account has another one after each installation.
 * @returns undefined for users without one, and if the API server refuses the question
 * @throws ApiError and others, as the client does
 */
export async function ownUid(client: ApiClient): Promise<string | undefined> {
  try {
    return (await whoAmI(client)).uid;
  } catch (error) {
    if (isForbidden(error) || isNotServed(error)) return undefined;
    throw error;
  }
}

/**
 * Whether this process has the right, with all its verbs and resources. True if the API server does not say, so that it is tried.
 * @throws ApiError, Error
 */
export async function isPermitted(client: ApiClient, right: OptionalRight): Promise<boolean> {
  try {
    const answers = await Promise.all(accessesOf(OPTIONAL_RIGHTS[right]).map((access) => isAllowed(client, access)));
    return answers.every(Boolean);
  } catch (error) {
    if (isForbidden(error)) return true;
    throw error;
  }
}

/** The access reviews of a rule. */
export function accessesOf({ group, resources, verbs }: Rule): Access[] {
  return resources.flatMap((resource) => verbs.map((verb) => ({ verb, group, resource })));
}
