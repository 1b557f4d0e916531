import type { Logger } from 'pino';
import type { NodeRecord } from '../judge/node-record.ts';
import { NODE_RECORD_KIND, recordFields, viewRecord } from '../objects/node-record.ts';
import { MANAGED_LABELS } from '../objects/object-meta.ts';
import { POLICY_API_VERSION } from '../policy/policy.ts';
import { createSubject, type Source } from '../runtime/source.ts';
import type { ApiClient } from './client/api-client.ts';
import { isConflict, isOutdated } from './client/api-error.ts';
import { deleteObject } from './client/delete-object.ts';
import { findObject } from './client/find-object.ts';
import { POLICY_GROUP } from './policy-paths.ts';
import { listObjects } from './watch/list-pages.ts';
import { watchResource } from './watch/watch-cache.ts';
import type { WatchCache } from './watch/watch-options.ts';

/** The resource of NodeTaintRecords: one object per node that has something to record, with the name of the node. */
export const NODE_RECORDS = 'nodetaintrecords';

const PATH = `${POLICY_GROUP}/${NODE_RECORDS}`;

/** A record of the API server. */
export interface StoredRecord {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Undefined if the object is invalid. */
  readonly record: NodeRecord | undefined;
}

/** Whether the records have been read: `unread` until the first list has succeeded or failed. */
export type RecordsState = 'not watched' | 'unread' | 'read' | { readonly problem: string };

/** The records, watched. */
export interface NodeRecords {
  /** Starts the watch. It sends no request before. */
  follow(): void;
  state(): RecordsState;
  /** The record of the node of that name, from the watch. Undefined if there is none, or if it is invalid. */
  recordOf(name: string): NodeRecord | undefined;
  /** The resourceVersion of that object, from the watch. */
  versionOf(name: string): string | undefined;
  /** Emits the names of changed records. */
  readonly changes: Source<string>;
  stop(): Promise<unknown>;
}

interface Metadata {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

function metadataOf(object: unknown): Metadata {
  return (object as { readonly metadata: Metadata }).metadata;
}

function asStored(object: unknown): StoredRecord {
  const { uid, resourceVersion } = metadataOf(object);
  try {
    return { uid, resourceVersion, record: viewRecord(object) };
  } catch {
    return { uid, resourceVersion, record: undefined };
  }
}

function pathOf(name: string): string {
  return `${PATH}/${encodeURIComponent(name)}`;
}

/**
 * The current record of a node. Undefined if there is none.
 * @throws ApiError
 */
export async function getRecord(client: ApiClient, name: string): Promise<StoredRecord | undefined> {
  const found = await findObject(client, pathOf(name));
  return found === undefined ? undefined : asStored(found);
}

/**
 * All current records, by the names of nodes: a quorum read.
 * @throws ApiError
 */
export async function listRecords(client: ApiClient): Promise<Map<string, StoredRecord>> {
  const found = await listObjects(client, PATH, (object): [string, StoredRecord] => [
    metadataOf(object).name,
    asStored(object),
  ]);
  return new Map(found);
}

/**
 * Creates or replaces the record of a node.
 * @param before the expected version at the API server; undefined for no object
 * @returns undefined if the API server has another version
 * @throws ApiError
 */
export async function writeRecord(
  client: ApiClient,
  name: string,
  record: NodeRecord,
  before: StoredRecord | undefined,
): Promise<StoredRecord | undefined> {
  const written = (answer: unknown): StoredRecord => ({ ...asStored(answer), record });
  try {
    if (before === undefined) {
      const metadata = { name, labels: MANAGED_LABELS };
      const body = {
        apiVersion: POLICY_API_VERSION,
        kind: NODE_RECORD_KIND,
        metadata,
        ...recordFields(record, undefined),
      };
      return written(await client.request('POST', PATH, { body }));
    }
    const { uid, resourceVersion } = before;
    const body = { metadata: { uid, resourceVersion }, ...recordFields(record, null) };
    const contentType = 'application/merge-patch+json';
    return written(await client.request('PATCH', pathOf(name), { contentType, body }));
  } catch (error) {
    if (before === undefined ? isConflict(error) : isOutdated(error)) return undefined;
    throw error;
  }
}

/**
 * Deletes the record of a node.
 * @returns false if the API server has another version
 * @throws ApiError
 */
export async function removeRecord(client: ApiClient, name: string, before: StoredRecord): Promise<boolean> {
  return (await deleteObject(client, pathOf(name), before)) !== 'changed';
}

export function nodeRecords(options: {
  readonly client: ApiClient;
  readonly onState?: (connected: boolean) => void;
  readonly log: Logger;
}): NodeRecords {
  const changes = createSubject<string>();
  let cache: WatchCache<NodeRecord | undefined> | undefined;
  let problem: string | undefined;

  return {
    changes,
    follow() {
      cache ??= watchResource({
        client: options.client,
        path: PATH,
        project: (object) => asStored(object).record,
        onChange: ({ entry }) => changes.next(entry.name),
        onState(state) {
          problem = state.connected ? undefined : state.error;
          options.onState?.(state.connected);
        },
        log: options.log,
      });
    },
    state() {
      if (!cache) return 'not watched';
      if (problem !== undefined) return { problem };
      return cache.isSynced() ? 'read' : 'unread';
    },
    recordOf: (name) => cache?.get(name)?.value,
    versionOf: (name) => cache?.get(name)?.resourceVersion,
    stop: async () => cache?.stop(),
  };
}
