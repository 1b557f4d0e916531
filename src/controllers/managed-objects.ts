import type { Logger } from 'pino';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { isConflict, isOutdated } from '../cluster/client/api-error.ts';
import { findObject } from '../cluster/client/find-object.ts';
import { hasFields } from '../kubernetes/desired-fields.ts';
import type { Ownership } from './cluster-role-owner.ts';
import { CONFLICT_PAUSE_MS } from './controller.ts';
import type { RepairLimit } from './repair-limit.ts';

// What is common to the objects that taintkeeper writes and keeps in their desired state.

/** The fields of an object that taintkeeper sets. The others stay as they are. */
export interface DesiredFields {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> } & Ownership;
  readonly [field: string]: unknown;
}

interface Write {
  readonly client: Pick<ApiClient, 'request'>;
  /** The object in the log. */
  readonly title: string;
  readonly limit: RepairLimit;
  readonly log: Logger;
  /** Called before a write. What it throws prevents the write. */
  readonly confirm?: () => Promise<void>;
}

export interface Update extends Write {
  /** Of the object. */
  readonly path: string;
  /** Which other writer changes the object, or where the user finds that. */
  readonly otherWriter?: () => string;
}

export interface Creation extends Write {
  /** Of the objects of its kind. */
  readonly collection: string;
  /** The object with its name, and with what the API server requires besides. */
  readonly body: unknown;
}

/** Where a user finds who deleted an object: it has no managedFields any more. */
export const DELETIONS_SEEN_IN = 'see the audit log of the API server';

export interface Updated<T> {
  /**
   * As the API server answered the write. If nothing was written, as it was found, and after a conflict as it was read anew. It may lack desired fields
   * in each case. Undefined if it was deleted.
   */
  readonly object: T | undefined;
  readonly written: boolean;
  /** Set if the object was not written although it differed: in how many milliseconds to try again. */
  readonly waitMs?: number;
}

/**
 * Writes an object that differs from the desired fields. If other writers change it again and again, later writes wait.
 * @throws ApiError; what `confirm` throws
 */
export async function updateManaged<
  T extends { readonly metadata: { readonly labels?: Readonly<Record<string, string>> } },
>(
  found: T,
  desired: DesiredFields,
  { client, path, title, limit, log, confirm, otherWriter = () => 'see its managedFields' }: Update,
): Promise<Updated<T>> {
  if (hasFields(found, desired)) return { object: found, written: false };
  const isRepair = limit.isRepair(desired);
  const waitMs = isRepair ? limit.waitMs() : 0;
  if (waitMs > 0) return { object: found, written: false, waitMs };
  await confirm?.();
  const labels = { ...found.metadata.labels, ...desired.metadata.labels };
  const body = { ...found, ...desired, metadata: { ...found.metadata, ...desired.metadata, labels } };
  try {
    const object = await client.request<T>('PUT', path, { body });
    log.info(`${title} ${isRepair ? 'restored: another writer had changed it' : 'updated'}`);
    if (limit.written(desired) === 'TooOften')
      log.warn(`${title} is changed repeatedly by another writer: ${otherWriter()}`);
    return { object, written: true };
  } catch (error) {
    if (!isOutdated(error)) throw error;
    return { object: await findObject<T>(client, path), written: false, waitMs: CONFLICT_PAUSE_MS };
  }
}

/**
 * Creates an object that does not exist. If other writers delete it again and again, later creations wait.
 * @returns undefined if an object of that name exists
 * @throws ApiError; what `confirm` throws
 */
export async function createManaged<T>(
  desired: DesiredFields,
  { client, collection, body, title, limit, log, confirm }: Creation,
): Promise<Updated<T> | undefined> {
  const isRepair = limit.isRepair(desired);
  const waitMs = isRepair ? limit.waitMs() : 0;
  if (waitMs > 0) return { object: undefined, written: false, waitMs };
  await confirm?.();
  try {
    const object = await client.request<T>('POST', collection, { body });
    log.info(`${title} ${isRepair ? 'restored: another writer had deleted it' : 'created'}`);
    if (limit.written(desired) === 'TooOften')
      log.warn(`${title} is deleted repeatedly by another writer: ${DELETIONS_SEEN_IN}`);
    return { object, written: true };
  } catch (error) {
    if (isConflict(error)) return undefined;
    throw error;
  }
}
