import { formatToleration } from '../kubernetes/toleration.ts';
import type { CompiledTolerationRestriction } from '../policy/toleration-restriction.ts';
import { askedKeys, DEFAULT_SERVICE_ACCOUNT, type PodView, TOLERATE } from './authorization.ts';

/** Kinds with pods, or with a template of them. */
export const TOLERATOR_KINDS = ['Pod', 'DaemonSet', 'Deployment', 'StatefulSet', 'Job', 'CronJob'] as const;
export type ToleratorKind = (typeof TOLERATOR_KINDS)[number];

/** A pod, or what makes pods. */
export interface Tolerator {
  readonly kind: ToleratorKind;
  readonly name: string;
  readonly pod: PodView;
  /** The controller that made it, and creates such pods. */
  readonly owner: { readonly kind: string; readonly name: string } | undefined;
  /** Of a pod of a Deployment: the label `pod-template-hash`. Empty for others. */
  readonly templateHash: string;
  /** Whose manifest it comes from, where it says so. */
  readonly managedBy: string | undefined;
}

/** A service account that has to be authorized for a key, and why. */
export interface Claim {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly key: string;
  /** `POLICY (spec.taints[0], Deny)`. */
  readonly rules: readonly string[];
  /** What the pods have that is asked about: tolerations, or `nodeName`. */
  readonly by: readonly string[];
  /** `Deployment/web`: what makes such pods, and pods that nothing has made. */
  readonly workloads: readonly string[];
  /** How many pods there are that something has made. */
  readonly pods: number;
  /** Nothing but pods that nothing has made: a person who creates those may be authorized as well. */
  readonly isBare: boolean;
}

/** Who has to be authorized for which key, by namespace, service account and key. */
export function authorizationsNeeded(
  tolerators: readonly Tolerator[],
  restrictions: readonly CompiledTolerationRestriction[],
): Claim[] {
  const all = tolerators
    // What made a Job is asked about itself.
    .filter(({ kind, owner }) => kind === 'Pod' || !owner)
    .flatMap((tolerator) => askedKeys(tolerator.pod, restrictions).map((asked) => ({ ...tolerator, asked })));
  const groups = Map.groupBy(all, ({ pod: { namespace, serviceAccount }, asked: { key } }) =>
    [namespace, serviceAccount || DEFAULT_SERVICE_ACCOUNT, key].join(' '),
  );
  return [...groups.keys()].sort().map((id): Claim => {
    const [namespace = '', serviceAccount = '', key = ''] = id.split(' ');
    const group = groups.get(id) ?? [];
    const owned = group.filter(({ owner }) => owner);
    const own = group.filter(({ owner }) => !owner);
    const asked = group.map((one) => one.asked);
    return {
      namespace,
      serviceAccount,
      key,
      rules: distinct(asked.map(({ policy, fields, mode }) => `${policy} (${fields.join(', ')}, ${mode})`)),
      by: distinct(
        asked.flatMap(({ tolerations }) => (tolerations.length > 0 ? tolerations.map(formatToleration) : ['nodeName'])),
      ),
      workloads: distinct(own.map(({ kind, name }) => `${kind}/${name}`)),
      pods: new Set(owned.map(({ name }) => name)).size,
      isBare: owned.length === 0 && own.every(({ kind }) => kind === 'Pod'),
    };
  });
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

const RBAC = { group: 'rbac.authorization.k8s.io', apiVersion: 'rbac.authorization.k8s.io/v1' } as const;

/** The ClusterRoles and ClusterRoleBindings that authorize the service accounts: one role for each key, one binding for each claim. */
export function grantsFor(claims: readonly Pick<Claim, 'namespace' | 'serviceAccount' | 'key'>[]): object[] {
  const { apiGroup, resource, verb } = TOLERATE;
  return [...Map.groupBy(claims, ({ key }) => key)].flatMap(([key, some]) => {
    // A slash in its name no RBAC object can have.
    const role = `tolerate:${key.replaceAll('/', ':')}`;
    return [
      {
        apiVersion: RBAC.apiVersion,
        kind: 'ClusterRole',
        metadata: { name: role },
        rules: [{ apiGroups: [apiGroup], resources: [resource], resourceNames: [key], verbs: [verb] }],
      },
      ...some.map(({ namespace, serviceAccount: name }) => ({
        apiVersion: RBAC.apiVersion,
        kind: 'ClusterRoleBinding',
        metadata: { name: `${role}:${namespace}:${name}` },
        roleRef: { apiGroup: RBAC.group, kind: 'ClusterRole', name: role },
        subjects: [{ kind: 'ServiceAccount', namespace, name }],
      })),
    ];
  });
}
