import type { ApiClient } from '../../cluster/client/api-client.ts';
import { ApiError, isFinal, isOutdated } from '../../cluster/client/api-error.ts';
import { findObject } from '../../cluster/client/find-object.ts';
import { namespacedPath } from '../../cluster/client/object-path.ts';
import { TOLERATIONS_PATH } from '../../kubernetes/toleration.ts';
import {
  describeOwner,
  FIELD_MANAGER,
  fieldOwner,
  lastOtherWriter,
  type ManagedFields,
} from '../../objects/managed-fields.ts';
import type { RunningDaemonSet } from './running-daemon-set.ts';

/** The API server also answers so while a webhook is unavailable, which may last. */
const INTERNAL_ERROR = 500;

interface DaemonSetObject {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly ManagedFields[];
  };
}

/**
 * How a write ended: with a new version, with a conflict (the DaemonSet was changed or deleted), or with a refusal. `mayArrive`: the API server or etcd
 * may still do it.
 */
export type PatchOutcome =
  | { readonly resourceVersion: string }
  | 'changed'
  | { readonly refused: string; readonly mayArrive: boolean };

/** `unchanged`: the write has not arrived. It still can, because the DaemonSet has the version that the write names. */
export type LostPatchOutcome = { readonly resourceVersion: string } | 'changed' | 'unchanged';

/** Reads and writes DaemonSets directly, without the cache. @throws what the client throws */
export interface DaemonSetWriter {
  /** Appends the missing tolerations to the version that was inspected, and annotates the DaemonSet. */
  patch(daemonSet: RunningDaemonSet): Promise<PatchOutcome>;
  /** Reads what has become of a patch whose answer was lost. */
  outcome(daemonSet: RunningDaemonSet): Promise<LostPatchOutcome>;
  /** The writer that has changed the tolerations, in words. */
  otherWriter(daemonSet: RunningDaemonSet): Promise<string>;
}

export function daemonSetWriter(client: ApiClient): DaemonSetWriter {
  return {
    async patch(daemonSet) {
      const { uid, resourceVersion } = daemonSet.entry;
      try {
        const { metadata } = await client.request<DaemonSetObject>('PATCH', pathOf(daemonSet), {
          query: { fieldManager: FIELD_MANAGER },
          contentType: 'application/merge-patch+json',
          body: {
            metadata: { uid, resourceVersion, annotations: daemonSet.annotations },
            spec: { template: { spec: { tolerations: daemonSet.tolerations } } },
          },
        });
        return { resourceVersion: metadata.resourceVersion };
      } catch (error) {
        if (isOutdated(error)) return 'changed';
        if (isFinal(error)) return { refused: error.message, mayArrive: false };
        if (!(error instanceof ApiError && error.status === INTERNAL_ERROR)) throw error;
        const found = await outcome(daemonSet);
        return typeof found === 'object' ? found : { refused: error.message, mayArrive: found === 'unchanged' };
      }
    },
    outcome,
    async otherWriter(daemonSet) {
      const { managedFields = [] } = (await read(daemonSet)) ?? {};
      // The list is atomic: its owner wrote all of it. A list that was removed has no owner, so the last writer counts.
      const owner = fieldOwner(managedFields, TOLERATIONS_PATH) ?? lastOtherWriter(managedFields);
      return owner ? describeOwner(owner) : 'the writer is not known';
    },
  };

  async function outcome({ entry, annotations }: RunningDaemonSet): Promise<LostPatchOutcome> {
    const found = await read({ entry });
    if (found?.resourceVersion === entry.resourceVersion) return 'unchanged';
    const isRecorded = Object.entries(annotations).every(([name, text]) => found?.annotations?.[name] === text);
    return found && isRecorded ? { resourceVersion: found.resourceVersion } : 'changed';
  }

  /** @returns undefined if the DaemonSet was deleted */
  async function read(daemonSet: Pick<RunningDaemonSet, 'entry'>): Promise<DaemonSetObject['metadata'] | undefined> {
    const found = await findObject<DaemonSetObject>(client, pathOf(daemonSet));
    return found?.metadata.uid === daemonSet.entry.uid ? found.metadata : undefined;
  }
}

function pathOf({ entry }: Pick<RunningDaemonSet, 'entry'>): string {
  return namespacedPath('/apis/apps/v1', entry.namespace, 'daemonsets', entry.name);
}
