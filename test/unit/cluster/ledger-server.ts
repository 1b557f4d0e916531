import type { ApiClient, RequestOptions } from '../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../src/cluster/client/api-error.ts';
import { PLACES_ANNOTATION, parseLedger } from '../../../src/cluster/lease/budget-ledger.ts';

interface Stored {
  readonly metadata: { readonly resourceVersion: string; readonly annotations: Readonly<Record<string, string>> };
}

/** An API server with the Lease of the places, nodes and pods, in memory, with optimistic concurrency; each answer takes a while. */
export function ledgerServer(user = 'system:serviceaccount:taintkeeper:taintkeeper') {
  let version = 0;
  let stored: Stored | undefined;
  const server = {
    /** What is done before a request is served; what it throws is the answer. */
    before: (_method: string, _path: string): void | Promise<void> => {},
    requests: [] as string[],
    nodes: new Map<string, object>(),
    pods: [] as object[],
    places: (policy: string) => [
      ...(parseLedger(stored?.metadata.annotations[PLACES_ANNOTATION]).get(policy)?.nodes.keys() ?? []),
    ],
    text: () => stored?.metadata.annotations[PLACES_ANNOTATION],
    put(text: string) {
      stored = { metadata: { resourceVersion: String(++version), annotations: { [PLACES_ANNOTATION]: text } } };
    },
    client: {
      now: () => new Date(),
      async request<T>(method: string, path: string, { body, signal }: RequestOptions = {}) {
        server.requests.push(`${method} ${path}`);
        await new Promise((resolve) => setTimeout(resolve, 1));
        await server.before(method, path);
        signal?.throwIfAborted();
        return serve(method, path, body) as T;
      },
    } as unknown as ApiClient,
  };
  return server;

  function serve(method: string, path: string, body: unknown): unknown {
    const fail = (status: number, reason: string) => new ApiError(method, path, status, reason, '');
    if (path.endsWith('selfsubjectreviews')) return { status: { userInfo: { username: user } } };
    if (path === '/api/v1/pods') return { metadata: { resourceVersion: '1' }, items: server.pods };
    if (path.startsWith('/api/v1/nodes/')) {
      const node = server.nodes.get(path.slice('/api/v1/nodes/'.length));
      if (!node) throw fail(404, 'NotFound');
      return node;
    }
    const sent = body as Stored | undefined;
    if (method === 'GET') {
      if (!stored) throw fail(404, 'NotFound');
    } else {
      const isStale = method === 'POST' ? stored : sent?.metadata.resourceVersion !== stored?.metadata.resourceVersion;
      if (isStale) throw fail(409, 'Conflict');
      server.put(sent?.metadata.annotations[PLACES_ANNOTATION] ?? '');
    }
    return stored;
  }
}
