import type { Logger } from 'pino';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isConflict } from '../../cluster/client/api-error.ts';
import { deleteObject } from '../../cluster/client/delete-object.ts';
import { type NativeKind, type NativeObject, type NativeVersions, nativePath } from '../../cluster/native-policies.ts';
import { CONFLICT_PAUSE_MS } from '../controller.ts';
import { covers, limitRepairs, type RepairLimit } from '../managed-objects.ts';
import type { DesiredNative } from './desired-native-policies.ts';

/** Writes native policies, and stops if another writer changes them repeatedly. */
export interface NativeWriter {
  /**
   * Makes the object as it should be.
   * @param found as it stands, if it is known to
   * @throws ApiError; NotOursError
   */
  apply(desired: DesiredNative, found: NativeObject | undefined, versions: NativeVersions): Promise<Applied>;
  /** @throws ApiError */
  /** @returns after how many milliseconds to try again; undefined when it is gone */
  remove(found: NativeObject, versions: NativeVersions): Promise<number | undefined>;
}

export interface Applied {
  /** As it stands now. */
  readonly object: NativeObject;
  readonly written: boolean;
  /** It is not as it should be, and is to be looked at again in so many milliseconds. */
  readonly waitMs?: number;
}

/** There is an object of that name which somebody else has made. */
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
      return created ? { object: created, written: true } : update(path, desired, await readOurs(path, desired));
    },
    async remove(found, versions) {
      const path = `${collection(found.kind, versions)}/${found.metadata.name}`;
      const outcome = await deleteObject(client, path, found.metadata);
      if (outcome === 'changed') return CONFLICT_PAUSE_MS;
      if (outcome === 'deleted') log.info(`${titleOf(found)} removed: no policy asks for it`);
      limits.delete(titleOf(found));
      return undefined;
    },
  };

  /** Undefined when there is one of that name. */
  async function create(path: string, desired: DesiredNative): Promise<NativeObject | undefined> {
    try {
      const object = await client.request<NativeObject>('POST', path, { body: desired });
      limitOf(desired).written(desired);
      log.info(`${titleOf(desired)} created`);
      return object;
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  }

  /** One that is there, and not among those with our labels: they may have been taken off it. */
  async function readOurs(path: string, desired: DesiredNative): Promise<NativeObject> {
    const object = await client.request<NativeObject>('GET', `${path}/${desired.metadata.name}`);
    if (covers(object.metadata.ownerReferences, desired.metadata.ownerReferences)) return object;
    throw new NotOursError(titleOf(desired));
  }

  async function update(path: string, desired: DesiredNative, found: NativeObject): Promise<Applied> {
    const { metadata, spec } = desired;
    if (covers(found, { metadata, spec })) return { object: found, written: false };

    const limit = limitOf(desired);
    const repeated = limit.isRepair(desired);
    const waitMs = repeated ? limit.waitMs() : 0;
    if (waitMs > 0) return { object: found, written: false, waitMs };
    const labels = { ...found.metadata.labels, ...metadata.labels };
    const body = { ...desired, metadata: { ...found.metadata, ...metadata, labels } };
    try {
      const object = await client.request<NativeObject>('PUT', `${path}/${metadata.name}`, { body });
      const title = titleOf(desired);
      log.info(`${title} ${repeated ? 'restored: another writer had changed it' : 'updated'}`);
      if (limit.written(desired)) log.warn(`${title} is changed repeatedly by another writer: see its managedFields`);
      return { object, written: true };
    } catch (error) {
      if (isConflict(error)) return { object: found, written: false, waitMs: CONFLICT_PAUSE_MS };
      throw error;
    }
  }

  function limitOf(desired: DesiredNative): RepairLimit {
    const key = titleOf(desired);
    const limit = limits.get(key) ?? limitRepairs();
    limits.set(key, limit);
    return limit;
  }
}

/** For people. */
export function titleOf({ kind, metadata }: Pick<DesiredNative, 'kind' | 'metadata'> | NativeObject): string {
  return `${kind} ${metadata.name}`;
}

function collection(kind: NativeKind, versions: NativeVersions): string {
  const path = nativePath(kind, versions);
  if (path === undefined) throw new Error(`the API server has no ${kind}`);
  return path;
}
