import type { Logger } from 'pino';
import {
  type NativeKind,
  type NativeObject,
  type NativeVersions,
  nativePath,
} from '../../cluster/admission-registration/native-policies.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { deleteObject } from '../../cluster/client/delete-object.ts';
import { findObject } from '../../cluster/client/find-object.ts';
import { hasFields } from '../../kubernetes/desired-fields.ts';
import { CONFLICT_PAUSE_MS } from '../controller.ts';
import { createManaged, type Updated, updateManaged } from '../managed-objects.ts';
import { limitRepairs, type RepairLimit } from '../repair-limit.ts';
import type { DesiredNative } from './desired-native-policies.ts';

/** Writes native policies, and waits longer each time another writer changes or deletes them. */
export interface NativeWriter {
  /**
   * Creates or updates the object.
   * @param found the stored object, if it is known
   * @throws ApiError; NotOursError
   */
  apply(
    desired: DesiredNative,
    found: NativeObject | undefined,
    versions: NativeVersions,
  ): Promise<Updated<NativeObject>>;
  /**
   * @returns in how many milliseconds to try again; undefined once the object is deleted
   * @throws ApiError
   */
  remove(found: NativeObject, versions: NativeVersions): Promise<number | undefined>;
  /** Notes that the stored object decides otherwise than desired. */
  differs(desired: DesiredNative): void;
  /** Whether another writer makes the object decide otherwise again and again, also just after a repair. */
  isInConflict(desired: DesiredNative): boolean;
}

/** Another writer has created an object of that name. */
export class NotOursError extends Error {
  override name = 'NotOursError';
}

export function nativeWriter(client: ApiClient, log: Logger): NativeWriter {
  const limits = new Map<string, RepairLimit>();

  return {
    async apply(desired, found, versions) {
      const path = collection(desired.kind, versions);
      if (found) return update(path, desired, found);
      const created = await create(path, desired);
      if (created?.written) return created;
      const unlisted = await findOurs(path, desired);
      if (unlisted) return update(path, desired, unlisted);
      return created ?? { object: undefined, written: false, waitMs: CONFLICT_PAUSE_MS };
    },
    async remove(found, versions) {
      const path = `${collection(found.kind, versions)}/${found.metadata.name}`;
      const outcome = await deleteObject(client, path, found.metadata);
      if (outcome === 'changed') return CONFLICT_PAUSE_MS;
      if (outcome === 'deleted') log.info(`${titleOf(found)} removed: no policy asks for it`);
      limits.delete(titleOf(found));
      return undefined;
    },
    differs: (desired) => limitOf(desired).differs(titleOf(desired)),
    isInConflict: (desired) => limitOf(desired).conflict() !== undefined,
  };

  /** @returns undefined if an object of that name exists */
  function create(collection: string, desired: DesiredNative): Promise<Updated<NativeObject> | undefined> {
    const { metadata, spec } = desired;
    const fields = { metadata, spec };
    const title = titleOf(desired);
    return createManaged(fields, { client, collection, body: desired, title, limit: limitOf(desired), log });
  }

  /** An object that exists and was not listed: another writer may have removed its labels. */
  async function findOurs(path: string, desired: DesiredNative): Promise<NativeObject | undefined> {
    const object = await findObject<NativeObject>(client, `${path}/${desired.metadata.name}`);
    if (!object || hasFields(object.metadata.ownerReferences, desired.metadata.ownerReferences)) return object;
    throw new NotOursError(titleOf(desired));
  }

  function update(path: string, desired: DesiredNative, found: NativeObject): Promise<Updated<NativeObject>> {
    const { apiVersion, metadata, spec } = desired;
    return updateManaged(
      { ...found, apiVersion },
      { metadata, spec },
      { client, path: `${path}/${metadata.name}`, title: titleOf(desired), limit: limitOf(desired), log },
    );
  }

  function limitOf(desired: DesiredNative): RepairLimit {
    const key = titleOf(desired);
    const limit = limits.get(key) ?? limitRepairs();
    limits.set(key, limit);
    return limit;
  }
}

export function titleOf({ kind, metadata }: Pick<DesiredNative, 'kind' | 'metadata'> | NativeObject): string {
  return `${kind} ${metadata.name}`;
}

function collection(kind: NativeKind, versions: NativeVersions): string {
  const path = nativePath(kind, versions);
  if (path === undefined) throw new Error(`the API server has no ${kind}`);
  return path;
}
