import type { ApiClient, RequestOptions } from '../client/api-client.ts';
import { ApiError } from '../client/api-error.ts';
import { type Leadership, LeadershipLostError } from './leadership.ts';

/**
 * The same client for what only the leader does. A write is sent only while the lease is held, is given up when the lease
 * is lost, and never waits for an answer longer than the lease lasts. A read ends with the lease as well: a stop does not wait
 * for its answer. Watches are left as they are.
 *
 * What this cannot exclude: the process may be stopped after the lease was looked at and before the bytes are sent, or the
 * network or the API server may hold back a request that is on its way, until somebody else leads. No client can, and the
 * API server knows nothing of the lease. So each write of a leader has to say what it was made from, by
 * `metadata.resourceVersion` or a JSON patch's `test`: whatever the next leader has written since, the late write is then
 * refused with a conflict instead of undoing it.
 *
 * Its requests fail with LeadershipLostError besides what the client's own fail with.
 */
export function leaderClient(client: ApiClient, leadership: Leadership): ApiClient {
  const { signal } = leadership;
  return {
    async request<T>(
      method: Parameters<ApiClient['request']>[0],
      path: string,
      options: RequestOptions = {},
    ): Promise<T> {
      const leftMs = Math.floor(leadership.remainingMs());
      if (leftMs <= 0) throw lost(signal);
      const bound = method === 'GET' ? {} : { timeoutMs: Math.min(options.timeoutMs ?? leftMs, leftMs) };
      try {
        return await client.request<T>(method, path, {
          ...options,
          ...bound,
          signal: options.signal ? AbortSignal.any([signal, options.signal]) : signal,
        });
      } catch (error) {
        // What the API server answered counts, however late it is.
        if (!(error instanceof ApiError) && !leadership.held()) throw lost(signal, error);
        throw error;
      }
    },
    lines: (path, options) => client.lines(path, options),
    namespace: client.namespace,
    server: client.server,
    now: client.now,
    close: () => client.close(),
  };
}

function lost({ reason }: AbortSignal, cause?: unknown): LeadershipLostError {
  const why = reason instanceof Error ? reason.message : 'it has ended';
  return new LeadershipLostError(`no longer the leader: ${why}`, { cause });
}
