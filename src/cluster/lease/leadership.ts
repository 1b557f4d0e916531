import { randomUUID } from 'node:crypto';
import { longestSince, type Moment } from '../../runtime/moment.ts';
import { startTimer } from '../../runtime/timer.ts';
import type { ApiClient, RequestOptions } from '../client/api-client.ts';
import { ApiError } from '../client/api-error.ts';
import type { LeaderTimings } from './lease.ts';

/**
 * Who a process is in the election: a restarted container keeps its pod's name, and must not take the lease of the process
 * before it for its own.
 */
export function newIdentity(replica: string): string {
  return `${replica}_${randomUUID()}`;
}

/** The replica's name within the identity. */
export function replicaOf(identity: string): string {
  return identity.replace(/_[^_]*$/, '');
}

/** Proof of being the leader, given to what must be done once. */
export interface Leadership {
  /** Aborted, with a {@link LeadershipLostError}, as soon as the lease is lost, given up, or can no longer be renewed in time. */
  readonly signal: AbortSignal;
  /**
   * True while the lease is held by this process with time to spare. To be asked right before each write: no timer fires
   * while a process is stopped, and after it goes on others may be served first. A pause shows in the clocks at once:
   * whichever of the two says that more time has passed is believed, because a suspended machine stops one of them.
   */
  held(): boolean;
  /**
   * When somebody led for the last time before, by the API server's clock: in milliseconds since the epoch, whole seconds. Undefined
   * where nobody did, or it is not known.
   */
  readonly predecessorAt: number | undefined;
  /** Milliseconds until somebody else may take the lease, at the earliest; 0 once it is no longer held. */
  remainingMs(): number;
}

/** This process is no longer the leader; the message says why. What it was about to write is now for another one to do. */
export class LeadershipLostError extends Error {
  override name = 'LeadershipLostError';
}

/** One time of being the leader, from the elector's side. */
export interface Term extends Leadership {
  /** The lease was renewed. `asked` is when the request was sent: others cannot have seen its effect any earlier. */
  renewed(asked: Moment): void;
  /** Ends the term, if it has not ended yet; the error becomes the signal's reason. */
  end(why: LeadershipLostError): void;
}

/** @param asked when the request was sent that made this process the leader */
export function beginTerm(
  { leaseDurationMs, renewDeadlineMs }: LeaderTimings,
  asked: Moment,
  predecessorAt?: number,
): Term {
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
    // Timers may fire a little early, by the clock that is asked.
    deadline = startTimer(() => held() && watchDeadline(), Math.max(1, renewDeadlineMs - longestSince(renewedAt)));
  };

  watchDeadline();
  return {
    signal: ending.signal,
    held,
    predecessorAt,
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
    clockDisagreementMs: client.clockDisagreementMs,
    now: client.now,
    close: () => client.close(),
  };
}

function lost({ reason }: AbortSignal, cause?: unknown): LeadershipLostError {
  const why = reason instanceof Error ? reason.message : 'it has ended';
  return new LeadershipLostError(`no longer the leader: ${why}`, { cause });
}
