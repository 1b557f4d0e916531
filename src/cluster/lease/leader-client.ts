import type { ApiClient, RequestOptions } from '../client/api-client.ts';
import { ApiError } from '../client/api-error.ts';
import { type Leadership, LeadershipLostError } from './leadership.ts';

/**
 * The client for the leader's work. It sends a write only while the lease is held, aborts it when the lease is lost, and never waits for an answer
 * longer than the lease lasts. A read also ends with the lease, so that a shutdown does not wait for its answer. Watches continue.
 *
 * The API server ends a write after the same time (`timeout`), also if the leader's machine has no network or no power: a slow webhook or a
 * full queue would otherwise delay it by up to a minute, until another process leads.
 *
 * This does not exclude that the process is stopped between the check of the lease and the write, or that the network delays the request until
 * another process leads. No client can exclude that, and the API server does not know the lease. So each write of a leader must say what it was made
 * from, by `metadata.resourceVersion` or a JSON patch's `test`. The API server then refuses a late write with a conflict, and the next leader's
 * writes stay.
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
      const bound = method === 'GET' ? {} : boundTo(options, leftMs);
      try {
        return await client.request<T>(method, path, {
          ...options,
          ...bound,
          signal: options.signal ? AbortSignal.any([signal, options.signal]) : signal,
        });
      } catch (error) {
        // The API server's answer counts, however late it is.
        if (!(error instanceof ApiError) && !leadership.held()) throw lost(signal, error);
        throw error;
      }
    },
    lines: (path, options) => client.lines(path, options),
    namespace: client.namespace,
    server: client.server,
    now: client.now,
    isClockConfirmed: client.isClockConfirmed,
    close: () => client.close(),
  };
}

function boundTo({ query, timeoutMs }: RequestOptions, leftMs: number): RequestOptions {
  const ms = Math.min(timeoutMs ?? leftMs, leftMs);
  return { timeoutMs: ms, query: { ...query, timeout: `${ms}ms` } };
}

function lost({ reason }: AbortSignal, cause?: unknown): LeadershipLostError {
  const why = reason instanceof Error ? reason.message : 'it has ended';
  return new LeadershipLostError(`no longer the leader: ${why}`, { cause });
}
