import type { Logger } from 'pino';
import type { NodeRecord } from '../judge/node-return.ts';
import { parseRecord } from '../objects/node-record.ts';
import { MANAGED_LABELS } from '../objects/object-meta.ts';
import { createSubject, type Source } from '../runtime/source.ts';
import type { ApiClient } from './client/api-client.ts';
import { isConflict, isNotFound, isOutdated } from './client/api-error.ts';
import { compareResourceVersions } from './watch/cached-objects.ts';
import { type WatchCache, watchResource } from './watch/watch-cache.ts';

/** The ConfigMap in taintkeeper's namespace with what is kept of nodes beyond their deletion: an entry for each, by name. */
export const NODE_RECORDS = 'taintkeeper-nodes';

/** The ConfigMap as it stands; without a version there is none. */
export interface StoredRecords {
  readonly texts: ReadonlyMap<string, string>;
  readonly resourceVersion: string | undefined;
}

export interface NodeRecords {
  /** Watches it from now on. Until somebody asks for that, it costs nothing. */
  follow(): void;
  /** What is kept of the node of that name; nothing where that cannot be read, or nobody follows. */
  recordOf(name: string): NodeRecord | undefined;
  /** As it was last seen or written. */
  stored(): StoredRecords;
  /**
   * As it stands now.
   * @throws ApiError
   */
  read(client: ApiClient): Promise<StoredRecords>;
  /**
   * Changes entries, null for one that is to go, if nobody else has changed the ConfigMap since it was last seen.
   * @returns false if somebody has: look again
   * @throws ApiError
   */
  write(client: ApiClient, changes: ReadonlyMap<string, string | null>): Promise<boolean>;
  /** Tells when somebody else may have changed it. */
  readonly changes: Source;
  stop(): Promise<unknown>;
}

const NONE: StoredRecords = { texts: new Map(), resourceVersion: undefined };

interface ConfigMap {
  readonly metadata?: { readonly resourceVersion?: string };
  readonly data?: Readonly<Record<string, string>> | null;
}

function view(object: unknown): StoredRecords {
  const { metadata, data } = object as ConfigMap;
  return { texts: new Map(Object.entries(data ?? {})), resourceVersion: metadata?.resourceVersion };
}

export function nodeRecords(options: { client: ApiClient; namespace: string; log: Logger }): NodeRecords {
  const { client: reading, namespace, log } = options;
  const collection = `/api/v1/namespaces/${namespace}/configmaps`;
  const path = `${collection}/${NODE_RECORDS}`;
  const changes = createSubject();
  let latest = NONE;
  let cache: WatchCache<StoredRecords> | undefined;

  /** What the watch brings of a version may be older than what was written or read since. */
  function observed(version: string, state: StoredRecords): void {
    const order = latest.resourceVersion === undefined ? 1 : compareResourceVersions(version, latest.resourceVersion);
    if (order !== undefined && (order < 0 || state.resourceVersion === latest.resourceVersion)) return;
    latest = state;
    changes.next();
  }

  return {
    changes,
    stored: () => latest,
    recordOf(name) {
      const text = latest.texts.get(name);
      return text === undefined ? undefined : parseRecord(text);
    },
    follow() {
      cache ??= watchResource({
        client: reading,
        path: collection,
        fieldSelector: `metadata.name=${NODE_RECORDS}`,
        project: view,
        onChange: ({ type, entry }) => observed(entry.resourceVersion, type === 'deleted' ? NONE : entry.value),
        log,
      });
    },
    async read(client) {
      try {
        latest = view(await client.request('GET', path));
      } catch (error) {
        if (!isNotFound(error)) throw error;
        latest = NONE;
      }
      return latest;
    },
    async write(client, changed) {
      const before = latest.resourceVersion;
      const data = Object.fromEntries(changed);
      try {
        const answer =
          before === undefined
            ? await client.request('POST', collection, {
                body: {
                  apiVersion: 'v1',
                  kind: 'ConfigMap',
                  metadata: { name: NODE_RECORDS, labels: MANAGED_LABELS },
                  data,
                },
              })
            : await client.request('PATCH', path, {
                contentType: 'application/merge-patch+json',
                body: { metadata: { resourceVersion: before }, data },
              });
        latest = view(answer);
        return true;
      } catch (error) {
        if (before === undefined ? isConflict(error) : isOutdated(error)) return false;
        throw error;
      }
    },
    stop: async () => cache?.stop(),
  };
}
