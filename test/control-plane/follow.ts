import { pino } from 'pino';
import type { ApiClient } from '../../src/cluster/client/api-client.ts';
import { watchResource } from '../../src/cluster/watch/watch-cache.ts';

const log = pino({ level: 'silent' });

/** Calls back for every version of an object that a watch tells of. `resourceVersion` orders what happened, also of other resources. */
export function follow<T>(
  client: ApiClient,
  path: string,
  signal: AbortSignal,
  onVersion: (object: T, resourceVersion: number, name: string) => void,
): { readonly synced: Promise<void> } {
  const cache = watchResource<T>({
    client,
    path,
    log,
    project: (object) => object as T,
    onChange({ type, entry }) {
      if (type !== 'deleted') onVersion(entry.value, Number(entry.resourceVersion), entry.name);
    },
  });
  signal.addEventListener('abort', () => void cache.stop(), { once: true });
  return cache;
}

/** One version of an object. */
export interface Version<T> {
  readonly value: T;
  readonly resourceVersion: number;
  /** When the watch told of it, in milliseconds since the epoch. */
  readonly at: number;
}

/** All versions that a watch tells of, from now on: of the objects of this name, or of all. */
export async function followVersions<T>(
  client: ApiClient,
  path: string,
  signal: AbortSignal,
  name?: string,
): Promise<readonly Version<T>[]> {
  const versions: Version<T>[] = [];
  const watched = follow<T>(client, path, signal, (value, resourceVersion, of) => {
    if (name === undefined || of === name) versions.push({ value, resourceVersion, at: Date.now() });
  });
  await watched.synced;
  return versions;
}
