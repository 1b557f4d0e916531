import { type Moment, thisMoment } from '../../runtime/moment.ts';
import type { ApiClient } from '../client/api-client.ts';
import { ApiError, isConflict, isNotFound, isOutdated } from '../client/api-error.ts';
import type { LeaderTimings } from './leader-timings.ts';
import { replicaOf } from './leadership.ts';
import { type Bounds, givenUp, heldBy, holderOf, type Lease, leaseStore } from './lease.ts';

/** A failed request for the Lease for the log: the kind of the failure, and the message with a remedy. */
export function leaseFault(
  error: unknown,
  { namespace, name }: { namespace: string; name: string },
): [kind: string, message: string] {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof ApiError)) return ['unreachable', `leader election: ${message}`];
  const { status } = error;
  if (status === 403) {
    const remedy = `allow get, create and update of leases.coordination.k8s.io in namespace ${namespace} by a Role`;
    return ['forbidden', `leader election with Lease ${namespace}/${name} is not allowed: ${remedy} (${message})`];
  }
  // The contender reads a missing Lease again. What remains is a Lease that could not be created.
  if (isNotFound(error)) return ['no namespace', `leader election: create namespace ${namespace} (${message})`];
  return [String(status), `leader election: ${message}`];
}

/** For all requests of a release together, so that a shutdown does not take longer. */
const RELEASE_TIMEOUT_MS = 2_000;
/** How often a renewal or a release is tried, while others change the Lease between the read and the write. */
const WRITE_ATTEMPTS = 3;
/** How long to wait for a process that has probably ended, so that two processes of one name do not take the lease from each other. */
const MISSED_RENEWALS = 2;

/** How a renewal ended, when the API server answered. */
export type Renewal = { readonly ok: true; readonly asked: Moment } | { readonly ok: false; readonly why: string };

/**
 * One candidate's access to the Lease, by the rules of client-go's tools/leaderelection. The times in the Lease are never compared with a clock: a
 * lease has expired if it was not seen to change for its own duration. One rule is taintkeeper's own: the lease of the previous process in the same
 * container expires earlier.
 */
export interface LeaseContender {
  /**
   * Takes the lease if it is free, expired or already ours.
   * @returns when the successful request was sent, or undefined if another process holds the lease
   * @throws ApiError, Error
   */
  acquire(signal: AbortSignal): Promise<Moment | undefined>;
  /** Renews a lease of this process. @throws ApiError, Error: it may still be held */
  renew(signal: AbortSignal): Promise<Renewal>;
  /** Releases the lease if this process holds it, or may hold it. @throws ApiError, Error */
  release(): Promise<void>;
  /** The holder, as last seen. */
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
  /** Whether a write may have made this process the holder, answered or not. */
  let claimed = false;

  // One attempt may fail and leave time for another one before the deadline.
  const bounds = (signal: AbortSignal): Bounds => ({ timeoutMs: timings.renewDeadlineMs / 2, signal });

  function see(lease: Lease | undefined): void {
    // Only the content counts, as in client-go: a changed label does not show that the holder lives.
    const spec = JSON.stringify(lease?.spec);
    if (lease === undefined) seen = undefined;
    else seen = { lease, spec, changedAt: seen?.spec === spec ? seen.changedAt : performance.now() };
    claimed &&= lease !== undefined && holderOf(lease) === identity;
  }

  function expired(): boolean {
    if (!seen) return true;
    const { lease, changedAt } = seen;
    const lastsMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1_000;
    // A replica has one running process: the previous one has ended, and could not release its lease.
    const isPredecessors = replicaOf(holderOf(lease) ?? '') === replicaOf(identity);
    const endsMs = isPredecessors ? Math.min(lastsMs, MISSED_RENEWALS * timings.retryPeriodMs) : lastsMs;
    return performance.now() - changedAt >= endsMs;
  }

  /** Writes this process as the holder. @throws as the store, 409 too */
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
        return await claim(seen?.lease, signal);
      } catch (error) {
        // Without a Lease, this was a creation: then the namespace is missing.
        const isDeleted = seen !== undefined && isNotFound(error);
        if (!isConflict(error) && !isDeleted) throw error;
        // Another process was faster, or the Lease was deleted meanwhile.
        see(await store.read(bounds(signal)));
        return undefined;
      }
    },
    async renew(signal) {
      for (let attempt = 1; ; attempt++) {
        try {
          return { ok: true, asked: await claim(seen?.lease, signal) };
        } catch (error) {
          if (!isOutdated(error) || attempt === WRITE_ATTEMPTS) throw error;
        }
        // Changed by another process, or by an unanswered renewal of this one.
        see(await store.read(bounds(signal)));
        if (!seen) return { ok: false, why: 'the Lease was deleted' };
        const holder = holderOf(seen.lease);
        if (holder !== identity)
          return { ok: false, why: holder ? `the lease is held by ${holder}` : 'the lease was given up' };
      }
    },
    async release() {
      const within = { signal: AbortSignal.timeout(RELEASE_TIMEOUT_MS), timeoutMs: RELEASE_TIMEOUT_MS };
      for (let attempt = 1; claimed; attempt++) {
        // Read again, because a renewal may have been aborted without an answer.
        see(await store.read(within));
        if (!claimed || !seen) return;
        try {
          see(await store.update(seen.lease, givenUp(seen.lease.spec), within));
        } catch (error) {
          if (!isOutdated(error) || attempt === WRITE_ATTEMPTS) throw error;
        }
      }
    },
    holder: () => seen && holderOf(seen.lease),
  };
}
