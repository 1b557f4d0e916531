import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError } from '../cluster/client/api-error.ts';
import { OPTIONAL_RIGHT_NAMES } from '../cluster/optional-rights.ts';
import type { Installation, Right, RightsReview } from './configuration-facts.ts';
import { neededRights, optionalRights } from './needed-rights.ts';

const AUTHORIZATION = '/apis/authorization.k8s.io/v1';
const FORBIDDEN = 403;

/**
 * Asks the API server what the service account may do. Who may not ask about others may still ask about itself: in its own pod,
 * that is the service account.
 * @throws ApiError, Error
 */
export async function reviewRights(client: ApiClient, installation: Installation): Promise<RightsReview> {
  const { namespace, account } = installation;
  const user = `system:serviceaccount:${namespace}:${account}`;
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  const needed = neededRights(installation);
  const kind = await kindOfReview();

  const optional = OPTIONAL_RIGHT_NAMES.map(async (name) => {
    const missing = await lackingOf(optionalRights(name));
    return missing.length > 0 ? [name] : [];
  });
  return {
    user,
    asked: needed.reduce((sum, { verbs }) => sum + verbs.length, 0),
    lacking: await lackingOf(needed),
    notPermitted: (await Promise.all(optional)).flat(),
  };

  async function lackingOf(rights: readonly Right[]): Promise<Right[]> {
    const lacking = rights.map(async (right): Promise<Right> => {
      const allowed = await Promise.all(right.verbs.map((verb) => isAllowed(right, verb)));
      return { ...right, verbs: right.verbs.filter((_, index) => !allowed[index]) };
    });
    return (await Promise.all(lacking)).filter(({ verbs }) => verbs.length > 0);
  }

  async function isAllowed({ group, resource, name, namespace: within }: Right, verb: string): Promise<boolean> {
    const [type, subresource] = resource.split('/');
    const resourceAttributes = { verb, group, resource: type, subresource, name, namespace: within };
    const spec = { resourceAttributes, ...(kind === 'subjectaccessreviews' ? { user, groups } : {}) };
    const answer = await client.request<Review>('POST', `${AUTHORIZATION}/${kind}`, { body: { spec } });
    return answer.status?.allowed ?? false;
  }

  /** @throws ApiError when neither is of use */
  async function kindOfReview(): Promise<'subjectaccessreviews' | 'selfsubjectaccessreviews'> {
    try {
      const spec = { user, groups, nonResourceAttributes: { path: '/version', verb: 'get' } };
      await client.request('POST', `${AUTHORIZATION}/subjectaccessreviews`, { body: { spec } });
      return 'subjectaccessreviews';
    } catch (error) {
      if (error instanceof ApiError && error.status === FORBIDDEN && (await me()) === user) {
        return 'selfsubjectaccessreviews';
      }
      throw error;
    }
  }

  /** From Kubernetes 1.28 on. */
  async function me(): Promise<string | undefined> {
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const { status } = await client.request<SelfReview>('POST', path, { body: {} });
    return status?.userInfo?.username;
  }
}

interface Review {
  readonly status?: { readonly allowed?: boolean };
}

interface SelfReview {
  readonly status?: { readonly userInfo?: { readonly username?: string } };
}
