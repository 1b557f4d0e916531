import { SYSTEM_ADMIN, SYSTEM_PREFIX, TOLERATE } from './authorization.ts';

/** The fields of a ClusterRole that grant `tolerate`. */
export interface RoleView {
  readonly name: string;
  readonly rules: readonly {
    readonly apiGroups?: readonly string[];
    readonly resources?: readonly string[];
    readonly resourceNames?: readonly string[];
    readonly verbs?: readonly string[];
  }[];
}

/** A ClusterRoleBinding. A RoleBinding grants no right on taints, which are cluster-scoped. */
export interface BindingView {
  readonly name: string;
  readonly role: string;
  readonly subjects: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
}

/** A binding that authorizes more, or less, than its author may expect. */
export interface BroadGrant {
  readonly binding: string;
  /** `Group system:serviceaccounts` */
  readonly subject: string;
  readonly keys: readonly string[];
  /** The subjects that it lets tolerate the keys. None for a controller. */
  readonly reaches: 'every pod' | { readonly namespace: string } | 'a controller';
}

const SERVICE_ACCOUNTS = 'system:serviceaccounts';
const EVERYONE = [SERVICE_ACCOUNTS, 'system:authenticated'];
const SERVICE_ACCOUNT_USER = 'system:serviceaccount:';
/**
 * The service accounts of the controller manager in kube-system, of Kubernetes 1.33 to 1.36: those with a role `system:controller:NAME`
 * (controller_policy.go and namespace_policy.go in plugin/pkg/auth/authorizer/rbac/bootstrappolicy), except cloud-provider, which a pod may have. Other
 * controllers run in pods with their own service account, for example aws-load-balancer-controller.
 */
const CONTROLLERS: readonly string[] = [
  'attachdetach-controller',
  'bootstrap-signer',
  'certificate-controller',
  'clusterrole-aggregation-controller',
  'cronjob-controller',
  'daemon-set-controller',
  'deployment-controller',
  'device-taint-eviction-controller',
  'disruption-controller',
  'endpoint-controller',
  'endpointslice-controller',
  'endpointslicemirroring-controller',
  'ephemeral-volume-controller',
  'expand-controller',
  'generic-garbage-collector',
  'horizontal-pod-autoscaler',
  'job-controller',
  'kube-apiserver-serving-clustertrustbundle-publisher',
  'legacy-service-account-token-cleaner',
  'namespace-controller',
  'node-controller',
  'persistent-volume-binder',
  'pod-garbage-collector',
  'podcertificaterequestcleaner',
  'podgroup-protection-controller',
  'pv-protection-controller',
  'pvc-protection-controller',
  'replicaset-controller',
  'replication-controller',
  'resource-claim-controller',
  'resourcepoolstatusrequest-controller',
  'resourcequota-controller',
  'root-ca-cert-publisher',
  'route-controller',
  'selinux-warning-controller',
  'service-account-controller',
  'service-cidrs-controller',
  'service-controller',
  'statefulset-controller',
  'storage-version-garbage-collector',
  'storage-version-migrator-controller',
  'token-cleaner',
  'ttl-after-finished-controller',
  'ttl-controller',
  'validatingadmissionpolicy-status-controller',
  'volumeattributesclass-protection-controller',
];
const IN_KUBE_SYSTEM = `${SERVICE_ACCOUNT_USER}kube-system:`;

/**
 * The bindings that let whole groups tolerate one of the keys, or a controller, whose own right does not count for the pods that it
 * creates.
 */
export function broadGrants(
  keys: readonly string[],
  roles: readonly RoleView[],
  bindings: readonly BindingView[],
): BroadGrant[] {
  const keysOf = new Map(roles.map((role) => [role.name, keys.filter((key) => allows(role, key))]));
  return bindings.flatMap(({ name, role, subjects }) => {
    const granted = keysOf.get(role) ?? [];
    if (granted.length === 0) return [];
    return subjects.flatMap((subject): BroadGrant[] => {
      const reaches = reachOf(subject);
      if (reaches === undefined) return [];
      return [{ binding: name, subject: titleOf(subject), keys: granted, reaches }];
    });
  });
}

function allows({ rules }: RoleView, key: string): boolean {
  const has = (list: readonly string[] | undefined, value: string) => list?.some((one) => one === '*' || one === value);
  return rules.some(
    ({ apiGroups, resources, resourceNames = [], verbs }) =>
      has(apiGroups, TOLERATE.apiGroup) &&
      has(resources, TOLERATE.resource) &&
      has(verbs, TOLERATE.verb) &&
      (resourceNames.length === 0 || resourceNames.includes(key)),
  );
}

function reachOf({ kind, name, namespace }: BindingView['subjects'][number]): BroadGrant['reaches'] | undefined {
  if (kind === 'Group') {
    if (EVERYONE.includes(name)) return 'every pod';
    return name.startsWith(`${SERVICE_ACCOUNTS}:`) ? { namespace: name.slice(SERVICE_ACCOUNTS.length + 1) } : undefined;
  }
  const user = kind === 'ServiceAccount' ? `${SERVICE_ACCOUNT_USER}${namespace}:${name}` : name;
  const isControllers = user.startsWith(IN_KUBE_SYSTEM) && CONTROLLERS.includes(user.slice(IN_KUBE_SYSTEM.length));
  const isSystems = user.startsWith(SYSTEM_PREFIX) && user !== SYSTEM_ADMIN && !user.startsWith(SERVICE_ACCOUNT_USER);
  return isControllers || isSystems ? 'a controller' : undefined;
}

function titleOf({ kind, name, namespace }: BindingView['subjects'][number]): string {
  return kind === 'ServiceAccount' ? `ServiceAccount ${namespace}/${name}` : `${kind} ${name}`;
}

/** The effect of the binding, and what to do. */
export function explainGrant({ binding, subject, keys, reaches }: BroadGrant): { effect: string; remedy: string } {
  const head = `ClusterRoleBinding ${binding} lets ${subject} tolerate ${keys.join(', ')}`;
  if (reaches === 'a controller') {
    const effect = `${head}: this admits no pod, because the right of a controller does not count`;
    return { effect, remedy: 'bind the service accounts of the pods instead' };
  }
  const who = reaches === 'every pod' ? 'every pod' : `every pod in namespace ${reaches.namespace}`;
  return { effect: `${head}: ${who} may`, remedy: 'bind only the service accounts that need it' };
}
