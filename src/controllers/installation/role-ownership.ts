import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isConflict } from '../../cluster/client/api-error.ts';
import { clusterRolePath, type OwnerReference } from '../cluster-role-owner.ts';
import { CONFLICT_PAUSE_MS, type Controller, type Run, startControllerReconciler } from '../controller.ts';

interface OwnedRole {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly OwnerReference[];
    readonly managedFields?: readonly { readonly manager?: string }[];
  };
}

/** A new installation may create another ClusterRole of that name. */
const CHECK_AGAIN_MS = 10_000;

export interface RoleOwnershipOptions {
  readonly client: ApiClient;
  readonly clusterRole: string;
  /** The namespace of taintkeeper. */
  readonly namespace: string;
}

/**
 * Makes the Namespace the owner of the ClusterRole, which owns the objects that taintkeeper registers. If the user deletes only the namespace,
 * garbage collection deletes all of them.
 *
 * A ClusterRole with another owner is not changed: it would stay until both owners are deleted. Neither is one that Argo CD applies, because
 * Argo CD deletes no object with an owner (gitops-engine, pkg/cache/cluster.go, `GetManagedLiveObjs`).
 */
export function startRoleOwnership(run: Run, { client, clusterRole, namespace }: RoleOwnershipOptions): Controller {
  const path = clusterRolePath(clusterRole);
  return startControllerReconciler(run, 'role-ownership', reconcile);

  async function reconcile(): Promise<number> {
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
    run.log.info(`ClusterRole ${clusterRole} ${change} owned by Namespace ${namespace}`);
    return CHECK_AGAIN_MS;
  }

  async function theNamespace(): Promise<OwnerReference> {
    const { metadata } = await client.request<{ metadata: { uid: string } }>('GET', `/api/v1/namespaces/${namespace}`);
    return { apiVersion: 'v1', kind: 'Namespace', name: namespace, uid: metadata.uid };
  }
}

/** Whether Argo CD applies the object: by its tracking annotation, or by its managed fields. */
function isArgos({ annotations = {}, managedFields = [] }: OwnedRole['metadata']): boolean {
  return (
    Object.keys(annotations).some((key) => key.startsWith('argocd.argoproj.io/')) ||
    managedFields.some(({ manager }) => manager?.startsWith('argocd'))
  );
}

function sameOwners(found: readonly OwnerReference[], desired: readonly OwnerReference[]): boolean {
  return found.length === desired.length && found.every(({ uid }, index) => uid === desired[index]?.uid);
}
