import { once } from 'node:events';
import type { Logger } from 'pino';
import { messageOf } from '../../runtime/error-message.ts';
import { followFault } from '../../runtime/fault-log.ts';
import type { Moment } from '../../runtime/moment.ts';
import { pause } from '../../runtime/pause.ts';
import type { ApiClient } from '../client/api-client.ts';
import { candidatePause, type LeaderTimings, leaderTimings } from './leader-timings.ts';
import { beginTerm, type Leadership, LeadershipLostError, type Term } from './leadership.ts';
import { leaseContender, leaseFault } from './lease-contender.ts';

export interface LeaderElectionOptions {
  readonly client: ApiClient;
  /** Namespace and name of the Lease. It is created if it does not exist. */
  readonly namespace: string;
  readonly name: string;
  /** The identity: unique for each start of a process, because a restarted process must not take itself for the one before. */
  readonly identity: string;
  readonly log: Logger;
  /**
   * Called each time this process becomes the leader. It runs until `leadership.signal` aborts and must end then: the next term starts only after it
   * has ended. If it ends by itself, with an error or not, the process releases the lease for others.
   */
  readonly lead: (leadership: Leadership) => Promise<void>;
  /** The leader has changed. */
  readonly onChange?: (leader: string | undefined) => void;
  readonly timings?: Partial<LeaderTimings>;
}

export interface LeaderElection {
  isLeader(): boolean;
  /** The leader, as far as this process has seen. */
  leader(): string | undefined;
  /** Ends the run, waits for it (at most as long as the lease lasts) and releases the lease, so that the next leader need not wait. */
  stop(): Promise<void>;
}

/**
 * Takes part in the election of one leader among processes, by a Lease (coordination.k8s.io/v1) and the rules of client-go's tools/leaderelection. It
 * needs get, create and update of that Lease. It logs failures, and tries again.
 * @throws RangeError for timings with which two processes could lead
 */
export function electLeader(options: LeaderElectionOptions): LeaderElection {
  const { identity, log, lead, onChange } = options;
  const timings = leaderTimings(options.timings);
  const contender = leaseContender({ ...options, timings });
  const fault = followFault(log, 'leader election works again');
  const stopping = new AbortController();
  let term: Term | undefined;
  /** Whether `lead` was called and has not ended. */
  let running = false;
  let announced: string | undefined;

  const isLeader = () => term?.held() ?? false;
  const leader = () => {
    if (isLeader()) return identity;
    const holder = contender.holder();
    return holder === identity ? undefined : holder;
  };

  function announce(): void {
    const now = leader();
    if (now === announced) return;
    announced = now;
    log.info({ leader: now }, now === undefined ? 'there is no leader' : `the leader is ${now}`);
    try {
      onChange?.(now);
    } catch (error) {
      log.error({ err: error }, 'the change of the leader could not be reported');
    }
  }

  /** The result of the API server's answer, or undefined if there was none. */
  async function attempt<T>(ask: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
    try {
      const answer = await ask(signal);
      fault.ended();
      return answer;
    } catch (error) {
      if (!signal.aborted) fault.occurred(...leaseFault(error, options));
      return undefined;
    }
  }

  /** A success does not show that the API server works: there may have been nothing to release. */
  async function release(signal: AbortSignal): Promise<void> {
    try {
      await contender.release();
    } catch (error) {
      if (!signal.aborted) fault.occurred(...leaseFault(error, options));
    }
  }

  async function takePart(): Promise<void> {
    while (!stopping.signal.aborted) {
      const asked = await attempt(contender.acquire, stopping.signal);
      if (asked && !stopping.signal.aborted) await serve(asked);
      announce();
      await pause(candidatePause(timings), stopping.signal);
    }
    // Not while the run continues, because the next leader must be the only one.
    if (!running) await release(new AbortController().signal);
    announce();
  }

  async function serve(asked: Moment): Promise<void> {
    const own = beginTerm(timings, asked);
    // The process was stopped for too long between the request and its answer.
    if (!own.held()) return;
    term = own;
    announce();
    const run = runOnce(own);

    while (own.held()) {
      await pause(timings.retryPeriodMs, own.signal);
      if (!own.held()) break;
      const renewal = await attempt(contender.renew, own.signal);
      if (renewal?.ok) own.renewed(renewal.asked);
      else if (renewal) own.end(new LeadershipLostError(renewal.why));
    }
    log.info(`no longer the leader: ${messageOf(own.signal.reason)}`);
    announce();

    const waiting = new AbortController();
    await Promise.race([run, pause(timings.leaseDurationMs, waiting.signal)]);
    waiting.abort();
    if (running) {
      log.warn('leader work is still running after the lease was lost; not rejoining the election until it ends');
      if (!stopping.signal.aborted) await Promise.race([run, once(stopping.signal, 'abort')]);
    } else if (own.signal.reason instanceof RunEnded && !stopping.signal.aborted) {
      await release(stopping.signal);
      // The others first: they may succeed.
      await pause(timings.leaseDurationMs, stopping.signal);
    }
  }

  /** Ends the term if the run ends before it. */
  async function runOnce(own: Term): Promise<void> {
    running = true;
    try {
      await lead(own);
      own.end(new RunEnded('leader work has ended'));
    } catch (error) {
      if (own.signal.aborted) log.debug({ err: error }, 'leader work was aborted');
      else log.error({ err: error }, 'leader work has failed');
      own.end(new RunEnded('leader work has failed'));
    }
    running = false;
  }

  const done = takePart();
  return {
    isLeader,
    leader,
    stop() {
      stopping.abort();
      term?.end(new LeadershipLostError('it was told to stop'));
      return done;
    },
  };
}

/** The run ended while the lease was held. */
class RunEnded extends LeadershipLostError {}
