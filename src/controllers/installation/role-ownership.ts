import type { Logger } from 'pino';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isConflict } from '../../cluster/client/api-error.ts';
import { CONFLICT_PAUSE_MS, type Controller, type Run, startController } from '../controller.ts';

interface OwnedRole {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly OwnerReference[];
    readonly managedFields?: readonly { readonly manager?: string }[];
  };
}

interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** Who applies the installation anew may make another ClusterRole of that name. */
const CHECK_AGAIN_MS = 10_000;

export interface RoleOwnershipOptions {
  readonly client: ApiClient;
  readonly clusterRole: string;
  /** Where taintkeeper runs. */
  readonly namespace: string;
}

/**
 * One run that makes the Namespace the owner of the ClusterRole, which owns what taintkeeper registers: garbage collection then
 * goes the whole way when somebody deletes the namespace alone. Gives the time until the next look, in milliseconds.
 *
 * Not where the ClusterRole has another owner: it would stay until both are gone. And not where Argo CD applies it: that deletes
 * nothing that has an owner (gitops-engine, pkg/cache/cluster.go, `GetManagedLiveObjs`).
 * @throws ApiError
 */
export function roleOwnership(
  { client, clusterRole, namespace }: RoleOwnershipOptions,
  log: Logger,
): () => Promise<number> {
  const path = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${clusterRole}`;

  return async () => {
    const { metadata } = await client.request<OwnedRole>('GET', path);
    const { uid, resourceVersion, ownerReferences = [] } = metadata;
    const others = ownerReferences.filter(({ kind }) => kind !== 'Namespace');
    const desired = others.length > 0 || isArgos(metadata) ? others : [await theNamespace()];
    if (sameOwners(ownerReferences, desired)) return CHECK_AGAIN_MS;
    try {
      await client.request('PATCH', path, {
        contentType: 'application/merge-patch+json',
        body: { metadata: { uid, resourceVersion, ownerReferences: desired } },
      });
    } catch (error) {
      if (isConflict(error)) return CONFLICT_PAUSE_MS;
      throw error;
    }
    const change = desired === others ? 'is no longer' : 'is';
    log.info(`ClusterRole ${clusterRole} ${change} owned by Namespace ${namespace}`);
    return CHECK_AGAIN_MS;
  };

  async function theNamespace(): Promise<OwnerReference> {
    const { metadata } = await client.request<{ metadata: { uid: string } }>('GET', `/api/v1/namespaces/${namespace}`);
    return { apiVersion: 'v1', kind: 'Namespace', name: namespace, uid: metadata.uid };
  }
}

/** By its tracking annotation, or by the fields that it has written. */
function isArgos({ annotations = {}, managedFields = [] }: OwnedRole['metadata']): boolean {
  return (
    Object.keys(annotations).some((key) => key.startsWith('argocd.argoproj.io/')) ||
    managedFields.some(({ manager }) => manager?.startsWith('argocd'))
  );
}

function sameOwners(found: readonly OwnerReference[], desired: readonly OwnerReference[]): boolean {
  return found.length === desired.length && found.every(({ uid }, index) => uid === desired[index]?.uid);
}

export function startRoleOwnership(run: Run, options: RoleOwnershipOptions): Controller {
  return startController(run, 'role-ownership', roleOwnership(options, run.log));
}
