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
