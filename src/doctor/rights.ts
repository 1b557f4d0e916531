import type { ApiClient } from '../cluster/client/api-client.ts';
import { isForbidden } from '../cluster/client/api-error.ts';
import { NATIVE_RESOURCES } from '../cluster/native-policies.ts';
import { NODE_RECORDS } from '../cluster/node-records.ts';
import { OPTIONAL_RIGHT_NAMES, OPTIONAL_RIGHTS } from '../cluster/optional-rights.ts';
import { POLICY_RESOURCES } from '../cluster/policies.ts';
import { CONFIGURATION_NAME, CONFIGURATIONS } from '../cluster/webhook-configurations.ts';
import { serviceAccountUser } from '../coverage/authorization.ts';
import type { OptionalRight } from '../policy/backstop.ts';
import type { Installation } from './installation.ts';

/** A right of the service account, for each of the verbs. */
export interface Right {
  /** '' for the core group. */
  readonly group: string;
  /** With the subresource: `taintpolicies/status`. */
  readonly resource: string;
  /** Undefined for all of them. */
  readonly name?: string;
  /** Undefined for what is in no namespace, or in all. */
  readonly namespace?: string;
  readonly verbs: readonly string[];
}

/** How the API server answered when it was asked for the rights. */
export interface RightsReview {
  readonly user: string;
  readonly asked: number;
  /** What it may not do; a right is there with those verbs that are missing. */
  readonly lacking: readonly Right[];
  /** What it may not do of that which only some policies ask for. */
  readonly notPermitted: readonly OptionalRight[];
}

const POLICIES = Object.values(POLICY_RESOURCES);
const WEBHOOK_CONFIGURATIONS = Object.values(CONFIGURATIONS).map(({ resource }) => resource);

const NATIVE_POLICIES = Object.values(NATIVE_RESOURCES);

/** What the service account has to be allowed whatever the policies are: what install.yaml grants, and nothing besides. */
export function neededRights(installation: Installation): Right[] {
  const { namespace, service, secret, lease, defaultPolicies, ownerClusterRole } = installation;
  const policies = { group: 'taintkeeper.dev' };
  const webhooks = { group: 'admissionregistration.k8s.io' };
  return [
    ...POLICIES.flatMap((resource) => [
      { ...policies, resource, verbs: ['get', 'list', 'watch', ...(defaultPolicies ? ['create'] : [])] },
      { ...policies, resource: `${resource}/status`, verbs: ['patch'] },
    ]),
    { ...policies, resource: NODE_RECORDS, verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
    { group: '', resource: 'nodes', verbs: ['get', 'list', 'watch', 'patch'] },
    { group: 'apps', resource: 'daemonsets', verbs: ['get', 'list', 'watch'] },
    ...WEBHOOK_CONFIGURATIONS.flatMap((resource) => [
      { ...webhooks, resource, name: CONFIGURATION_NAME, verbs: ['get', 'list', 'watch', 'update', 'delete'] },
      { ...webhooks, resource, verbs: ['create'] },
    ]),
    ...NATIVE_POLICIES.map((resource) => ({ ...webhooks, resource, verbs: ['list'] })),
    ...(ownerClusterRole
      ? [
          {
            group: 'rbac.authorization.k8s.io',
            resource: 'clusterroles',
            name: ownerClusterRole,
            verbs: ['get', 'patch', 'delete'],
          },
        ]
      : []),
    { group: 'events.k8s.io', resource: 'events', verbs: ['create', 'patch'] },
    ...(secret
      ? [
          { group: '', resource: 'secrets', name: secret, namespace, verbs: ['get', 'list', 'watch', 'patch'] },
          { group: '', resource: 'secrets', namespace, verbs: ['create'] },
        ]
      : []),
    { group: 'coordination.k8s.io', resource: 'leases', name: lease, namespace, verbs: ['get', 'update'] },
    { group: 'coordination.k8s.io', resource: 'leases', namespace, verbs: ['create'] },
    { group: '', resource: 'pods', namespace, verbs: ['list'] },
    { group: '', resource: 'pods/eviction', namespace, verbs: ['create'] },
    { group: '', resource: 'services', name: service, namespace, verbs: ['get'] },
    { group: 'discovery.k8s.io', resource: 'endpointslices', namespace, verbs: ['list'] },
    ...(ownerClusterRole ? [{ group: '', resource: 'namespaces', name: namespace, namespace, verbs: ['get'] }] : []),
    ...(defaultPolicies
      ? [{ group: '', resource: 'configmaps', name: defaultPolicies, namespace, verbs: ['get', 'patch'] }]
      : []),
  ];
}

/** What it has to be allowed besides where a policy asks for that. */
export function optionalRights(right: OptionalRight): Right[] {
  const { group, resources, verbs } = OPTIONAL_RIGHTS[right];
  return resources.map((resource) => ({ group, resource, verbs }));
}

const AUTHORIZATION = '/apis/authorization.k8s.io/v1';

/**
 * Asks the API server what the service account may do. Who may not ask about others may still ask about itself: in its own pod,
 * that is the service account.
 * @throws ApiError, Error
 */
export async function reviewRights(client: ApiClient, installation: Installation): Promise<RightsReview> {
  const { namespace, account } = installation;
  const user = serviceAccountUser(namespace, account);
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  const needed = neededRights(installation);
  const kind = await kindOfReview();

  const optional = OPTIONAL_RIGHT_NAMES.map(async (name) => {
    const missing = await lackingOf(optionalRights(name));
    return missing.length > 0 ? [name] : [];
  });
  // Both are waited for at once: a failure of one that nobody waits for yet would end the program.
  const [lacking, notPermitted] = await Promise.all([lackingOf(needed), Promise.all(optional)]);
  return {
    user,
    asked: needed.reduce((sum, { verbs }) => sum + verbs.length, 0),
    lacking,
    notPermitted: notPermitted.flat(),
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
      if (isForbidden(error) && (await me()) === user) {
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
