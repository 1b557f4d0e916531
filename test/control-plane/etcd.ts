import { type RestClient, succeeded } from './rest.ts';

/** etcd's JSON gateway gives 64-bit numbers as strings. */
interface Revisions {
  header: { revision: string };
}

/**
 * Compacts etcd at its present revision: what was overwritten or deleted before is gone. The API server goes on to serve
 * watches, and the continuation of lists, from its own cache, so by itself this changes nothing for its clients. Once the
 * API server is restarted besides, a watch from an older revision gets an event with code 410, and a list that is
 * continued from one is answered with 410 (tried with 1.34.2 and 1.36.3).
 *
 * @param etcd a client with a certificate that etcd accepts
 * @returns the revision, which is the resourceVersion of the newest change
 * @throws Error when etcd refuses
 */
export async function compact(etcd: RestClient): Promise<number> {
  const { header } = await call<Revisions>(etcd, '/v3/maintenance/status', {});
  await call(etcd, '/v3/kv/compaction', { revision: header.revision, physical: true });
  return Number(header.revision);
}

async function call<T>(etcd: RestClient, path: string, body: object): Promise<T> {
  return succeeded(etcd.request<T>('POST', path, { body }));
}
