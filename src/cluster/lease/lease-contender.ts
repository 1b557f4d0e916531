import { type Moment, thisMoment } from '../../runtime/moment.ts';
import type { ApiClient } from '../client/api-client.ts';
import { ApiError, isConflict, isOutdated } from '../client/api-error.ts';
import { replicaOf } from './leadership.ts';
import {
  type Bounds,
  givenUp,
  heldBy,
  holderOf,
  type LeaderTimings,
  type Lease,
  leaseStore,
  writtenAt,
} from './lease.ts';

/** What to log of a request for the Lease that failed: what counts as the same fault, and the message with advice. */
export function leaseFault(
  error: unknown,
  { namespace, name }: { namespace: string; name: string },
): [kind: string, message: string] {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof ApiError)) return ['unreachable', `leader election: ${message}`];
  const { status } = error;
  if (status === 403) {
    const advice = `allow get, create and update of leases.coordination.k8s.io in namespace ${namespace} by a Role`;
    return ['forbidden', `leader election with Lease ${namespace}/${name} is not allowed: ${advice} (${message})`];
  }
  // Reading a Lease that is not there is no fault; what is missing is the place to create it in.
  if (status === 404) return ['no namespace', `leader election: create namespace ${namespace} (${message})`];
  return [String(status), `leader election: ${message}`];
}

/** All requests of a release together: nobody waits longer for a process that ends. */
const RELEASE_TIMEOUT_MS = 2_000;
const RELEASE_ATTEMPTS = 3;
/** A process that we take to have ended is waited for this long all the same, lest two of one name take the lease from each other. */
const MISSED_RENEWALS = 2;

/** How a renewal ended, when the API server answered. */
export type Renewal = { readonly ok: true; readonly asked: Moment } | { readonly ok: false; readonly why: string };

export interface Acquired {
  readonly asked: Moment;
  /** When the Lease was last written before: see {@link Leadership.predecessorAt}. */
  readonly predecessorAt: number | undefined;
}

/**
 * One candidate's dealings with the Lease, by the rules of client-go's tools/leaderelection: the times in the Lease are never
 * compared with a clock; a lease has expired when it has not been seen to change for as long as it says it lasts. One rule is our own:
 * that of the process before us in the same container is over sooner.
 */
export interface LeaseContender {
  /**
   * Takes the lease if it is free, expired or already ours.
   * @returns when it asked for what it got, or undefined if the lease is somebody else's
   * @throws ApiError, Error
   */
  acquire(signal: AbortSignal): Promise<Acquired | undefined>;
  /** Renews a lease that is ours. @throws ApiError, Error: it may still be ours */
  renew(signal: AbortSignal): Promise<Renewal>;
  /** Gives the lease up if it is, or may be, ours. @throws ApiError, Error */
  release(): Promise<void>;
  /** Who holds it, as far as was last seen. */
  holder(): string | undefined;
}

export function leaseContender(options: {
  client: ApiClient;
  namespace: string;
  name: string;
  identity: string;
  timings: LeaderTimings;
}): LeaseContender {
  const { identity, timings } = options;
  const store = leaseStore(options.client, options.namespace, options.name);
  let seen: { lease: Lease; spec: string; changedAt: number } | undefined;
  /** Whether a write of ours may have made us the holder, answered or not. */
  let claimed = false;

  // One attempt may fail and leave time for another one before the deadline.
  const bounds = (signal: AbortSignal): Bounds => ({ timeoutMs: timings.renewDeadlineMs / 2, signal });

  function see(lease: Lease | undefined): void {
    // Only the content counts, as in client-go: a label that somebody sets does not show that the holder lives.
    const spec = JSON.stringify(lease?.spec);
    if (lease === undefined) seen = undefined;
    else seen = { lease, spec, changedAt: seen?.spec === spec ? seen.changedAt : performance.now() };
    claimed &&= lease !== undefined && holderOf(lease) === identity;
  }

  function expired(): boolean {
    if (!seen) return true;
    const { lease, changedAt } = seen;
    const lastsMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1_000;
    // Of a replica, one process runs at a time: the one before us has ended, and could not give its lease up.
    const isPredecessors = replicaOf(holderOf(lease) ?? '') === replicaOf(identity);
    const endsMs = isPredecessors ? Math.min(lastsMs, MISSED_RENEWALS * timings.retryPeriodMs) : lastsMs;
    return performance.now() - changedAt >= endsMs;
  }

  /** Writes us in as the holder. @throws as the store, 409 too */
  async function claim(lease: Lease | undefined, signal: AbortSignal): Promise<Moment> {
    const spec = heldBy(identity, timings.leaseDurationMs, lease?.spec);
    const asked = thisMoment();
    claimed = true;
    see(lease ? await store.update(lease, spec, bounds(signal)) : await store.create(spec, bounds(signal)));
    return asked;
  }

  return {
    async acquire(signal) {
      see(await store.read(bounds(signal)));
      const holder = seen && holderOf(seen.lease);
      if (holder !== undefined && holder !== identity && !expired()) return undefined;
      try {
        const predecessorAt = seen && writtenAt(seen.lease);
        return { asked: await claim(seen?.lease, signal), predecessorAt };
      } catch (error) {
        if (!isConflict(error)) throw error;
        // Somebody was faster: see who.
        see(await store.read(bounds(signal)));
        return undefined;
      }
    },
    async renew(signal) {
      try {
        return { ok: true, asked: await claim(seen?.lease, signal) };
      } catch (error) {
        if (!isOutdated(error)) throw error;
      }
      // Changed by somebody, or by a renewal of ours that was not answered.
      see(await store.read(bounds(signal)));
      if (!seen) return { ok: false, why: 'the Lease was deleted' };
      const holder = holderOf(seen.lease);
      if (holder !== identity)
        return { ok: false, why: holder ? `the lease is held by ${holder}` : 'the lease was given up' };
      return { ok: true, asked: await claim(seen.lease, signal) };
    },
    async release() {
      const within = { signal: AbortSignal.timeout(RELEASE_TIMEOUT_MS), timeoutMs: RELEASE_TIMEOUT_MS };
      for (let attempt = 1; claimed; attempt++) {
        // Read anew, because a renewal may have been given up without an answer.
        see(await store.read(within));
        if (!claimed || !seen) return;
        try {
          see(await store.update(seen.lease, givenUp(seen.lease.spec), within));
        } catch (error) {
          if (!isConflict(error) || attempt === RELEASE_ATTEMPTS) throw error;
        }
      }
    },
    holder: () => seen && holderOf(seen.lease),
  };
}
