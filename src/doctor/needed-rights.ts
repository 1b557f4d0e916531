import { NATIVE_RESOURCES } from '../cluster/native-policies.ts';
import { OPTIONAL_RIGHTS } from '../cluster/optional-rights.ts';
import { POLICY_RESOURCES } from '../cluster/policies.ts';
import { CONFIGURATION_NAME, CONFIGURATIONS } from '../cluster/webhook-configurations.ts';
import type { OptionalRight } from '../policy/backstop.ts';
import type { Installation, Right } from './configuration-facts.ts';

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
