import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { isOutdated } from '../cluster/client/api-error.ts';
import { findObject } from '../cluster/client/find-object.ts';
import { hasFields } from '../kubernetes/desired-fields.ts';
import { createBackOff } from '../runtime/back-off.ts';
import { CONFLICT_PAUSE_MS } from './controller.ts';

// What is common to the objects that taintkeeper writes and keeps in their desired state.

/** `metadata.ownerReferences`; empty for no owner. */
export interface Ownership {
  readonly ownerReferences?: readonly {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
  }[];
}

/**
 * The ClusterRole of that name as the owner of objects; no owner without a name. An owner with a namespace is not possible: garbage collection
 * treats such a reference of a cluster-scoped object as broken.
 * @throws ApiError
 */
export async function ownedByClusterRole(client: ApiClient, clusterRole: string | undefined): Promise<Ownership> {
  if (clusterRole === undefined) return {};
  const path = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${clusterRole}`;
  const { metadata } = await client.request<{ metadata: { name: string; uid: string } }>('GET', path);
  const { name, uid } = metadata;
  return { ownerReferences: [{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name, uid }] };
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 60_000;
/** After this time without a repair, the next one counts as the first. */
const QUIET_MS = 120_000;
const REPEATED = 5;

/** Limits the pace of repairs: otherwise another writer with other desired fields would result in endless writes. */
export interface RepairLimit {
  /** Whether the object was written with these fields before, so that a difference is another writer's. */
  isRepair(desired: unknown): boolean;
  /** How long the next repair has to wait, in milliseconds. */
  waitMs(): number;
  /** The object was written with these fields just now. True when that is a repair that has been made too often, once. */
  written(desired: unknown): boolean;
}

export function limitRepairs(): RepairLimit {
  const backOff = createBackOff({ minMs: FIRST_PAUSE_MS, maxMs: LONGEST_PAUSE_MS });
  let last: unknown;
  let lastAt = 0;
  let notBefore = 0;
  let count = 0;
  const isRepair = (desired: unknown) => isDeepStrictEqual(last, desired);

  return {
    isRepair,
    waitMs: () => Math.max(0, notBefore - performance.now()),
    written(desired) {
      const now = performance.now();
      if (!isRepair(desired) || now - lastAt > QUIET_MS) {
        backOff.reset();
        count = 0;
      }
      if (isRepair(desired)) {
        notBefore = now + backOff.next();
        count++;
      }
      last = desired;
      lastAt = now;
      return count === REPEATED;
    },
  };
}

/** The fields of an object that taintkeeper sets. The others stay as they are. */
export interface DesiredFields {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> } & Ownership;
  readonly [field: string]: unknown;
}

export interface Update {
  readonly client: Pick<ApiClient, 'request'>;
  readonly path: string;
  /** The object in the log. */
  readonly title: string;
  readonly limit: RepairLimit;
  readonly log: Logger;
  /** Called before a write. What it throws prevents the write. */
  readonly confirm?: () => Promise<void>;
  /** Which other writer changes the object, or where the user finds that. */
  readonly otherWriter?: () => string;
}

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
 * Writes an object that differs from the desired fields, unless other writers change it too often.
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
    if (limit.written(desired)) log.warn(`${title} is changed repeatedly by another writer: ${otherWriter()}`);
    return { object, written: true };
  } catch (error) {
    if (!isOutdated(error)) throw error;
    return { object: await findObject<T>(client, path), written: false, waitMs: CONFLICT_PAUSE_MS };
  }
}
