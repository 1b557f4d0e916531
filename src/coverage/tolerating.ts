import { formatToleration } from '../kubernetes/toleration.ts';
import type { CompiledTolerationRestriction } from '../policy/toleration-restriction.ts';
import { askedKeys, DEFAULT_SERVICE_ACCOUNT, type PodView, TOLERATE } from './authorization.ts';

/** Kinds with pods, or with a template of them. */
export const TOLERATOR_KINDS = ['Pod', 'DaemonSet', 'Deployment', 'StatefulSet', 'Job', 'CronJob'] as const;
export type ToleratorKind = (typeof TOLERATOR_KINDS)[number];

/** A pod, or a workload that creates pods. */
export interface Tolerator {
  readonly kind: ToleratorKind;
  readonly name: string;
  readonly pod: PodView;
  /** The controller that created it, and creates such pods. */
  readonly owner: { readonly kind: string; readonly name: string } | undefined;
  /** The label `pod-template-hash` for a pod of a Deployment. Empty for others. */
  readonly templateHash: string;
  /** What reverts a manual change, if it is named: its controller, or the manager of its manifest. */
  readonly managedBy: string | undefined;
}

/** A service account that needs authorization for a key, and why. */
export interface Claim {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly key: string;
  /** `POLICY (spec.taints[0], Deny)`. */
  readonly rules: readonly string[];
  /** The fields of the pods that need authorization: tolerations, or `nodeName`. */
  readonly by: readonly string[];
  /** `Deployment/web`: the workloads that create such pods, and pods without an owner. */
  readonly workloads: readonly string[];
  /** The number of pods with an owner. */
  readonly pods: number;
  /** Only pods without an owner: a person who creates them may also be authorized. */
  readonly isBare: boolean;
}

/** Which service accounts need authorization for which key, by namespace, service account and key. */
export function authorizationsNeeded(
  tolerators: readonly Tolerator[],
  restrictions: readonly CompiledTolerationRestriction[],
): Claim[] {
  const all = tolerators
    // The owner of a Job is in the list itself.
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
    // No RBAC object can have a slash in its name.
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
