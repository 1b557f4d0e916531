import { randomUUID } from 'node:crypto';
import { longestSince, type Moment } from '../../runtime/moment.ts';
import { startTimer } from '../../runtime/timer.ts';
import type { ApiClient, RequestOptions } from '../client/api-client.ts';
import { ApiError } from '../client/api-error.ts';
import type { LeaderTimings } from './lease.ts';

/**
 * The identity of a process in the election: a restarted container keeps its pod's name, and must not take the lease of the process before it for its
 * own.
 */
export function newIdentity(replica: string): string {
  return `${replica}_${randomUUID()}`;
}

/** The replica's name within the identity. */
export function replicaOf(identity: string): string {
  return identity.replace(/_[^_]*$/, '');
}

/** Proof of being the leader, for work that must be done once. */
export interface Leadership {
  /** Aborted, with a {@link LeadershipLostError}, as soon as the lease is lost, released, or can no longer be renewed in time. */
  readonly signal: AbortSignal;
  /**
   * True while this process holds the lease with time to spare. Check it right before each write: no timer fires while a process is stopped, and
   * other callbacks may run first afterwards. The clocks show a pause at once. Of the two clocks, the one with more elapsed time counts, because a
   * suspended machine stops one of them.
   */
  held(): boolean;
  /** Milliseconds until another process may take the lease, at the earliest. 0 once it is no longer held. */
  remainingMs(): number;
}

/** This process is no longer the leader. The message says why. The next leader repeats the write. */
export class LeadershipLostError extends Error {
  override name = 'LeadershipLostError';
}

/** One term as the leader, from the elector's side. */
export interface Term extends Leadership {
  /** The lease was renewed. `asked` is when the request was sent: others cannot have seen its effect earlier. */
  renewed(asked: Moment): void;
  /** Ends the term, if it has not ended yet. The error becomes the signal's reason. */
  end(why: LeadershipLostError): void;
}

/** @param asked when the request that made this process the leader was sent */
export function beginTerm({ leaseDurationMs, renewDeadlineMs }: LeaderTimings, asked: Moment): Term {
  const ending = new AbortController();
  let renewedAt = asked;
  let deadline: NodeJS.Timeout | undefined;

  const end = (why: LeadershipLostError) => {
    clearTimeout(deadline);
    if (!ending.signal.aborted) ending.abort(why);
  };
  const held = () => {
    if (ending.signal.aborted) return false;
    const passedMs = longestSince(renewedAt);
    if (passedMs < renewDeadlineMs) return true;
    end(new LeadershipLostError(`the lease was not renewed for ${(passedMs / 1_000).toFixed(1)} s`));
    return false;
  };
  const watchDeadline = () => {
    clearTimeout(deadline);
    // Timers may fire a little early, by the clock that is read here.
    deadline = startTimer(() => held() && watchDeadline(), Math.max(1, renewDeadlineMs - longestSince(renewedAt)));
  };

  watchDeadline();
  return {
    signal: ending.signal,
    held,
    remainingMs: () => (held() ? leaseDurationMs - longestSince(renewedAt) : 0),
    renewed(at) {
      if (!held()) return;
      renewedAt = at;
      watchDeadline();
    },
    end,
  };
}

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
