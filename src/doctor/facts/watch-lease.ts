import type { ApiClient } from '../../cluster/client/api-client.ts';
import { OWN_LEASE } from '../../cluster/installation/own-names.ts';
import { LEADER_TIMINGS } from '../../cluster/lease/leader-timings.ts';
import { holderOf, leaseStore } from '../../cluster/lease/lease.ts';
import { pause } from '../../runtime/pause.ts';
import type { Installation } from './installation.ts';

/** The Lease, watched for some seconds. A Lease that changes is renewed, whatever the clocks say. */
export interface LeaseWatch {
  /** Undefined: there is no Lease. '': its holder released it. */
  readonly holder: string | undefined;
  readonly renewed: boolean;
  /** By the holder's clock. */
  readonly renewTime: string | undefined;
  readonly watchedSeconds: number;
}

/** Whether a replica leads. */
export function hasLeader({ holder, renewed }: LeaseWatch): boolean {
  return holder !== undefined && holder !== '' && renewed;
}

/** Three renewals of a leader, so that a single lost answer does not count. */
const WATCH_MS = 3 * LEADER_TIMINGS.retryPeriodMs;
const POLL_MS = 250;
const REQUEST_TIMEOUT_MS = 3_000;

/**
 * Reads the Lease until its holder renews it, or for the time of three renewals.
 * @throws ApiError, Error
 */
export async function watchLease(
  client: ApiClient,
  { namespace }: Pick<Installation, 'namespace'>,
  { watchMs = WATCH_MS } = {},
): Promise<LeaseWatch> {
  const store = leaseStore(client, namespace, OWN_LEASE);
  const started = performance.now();
  const readLease = () =>
    store.read({ timeoutMs: REQUEST_TIMEOUT_MS, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  const first = await readLease();
  for (;;) {
    const now = await readLease();
    const changed = now !== undefined && now.metadata.resourceVersion !== first?.metadata.resourceVersion;
    const renewed = changed && holderOf(now) !== undefined;
    const watchedMs = performance.now() - started;
    if (renewed || watchedMs > watchMs) {
      return {
        holder: now && (holderOf(now) ?? ''),
        renewed,
        renewTime: now?.spec?.renewTime,
        watchedSeconds: Math.round(watchedMs / 1_000),
      };
    }
    await pause(POLL_MS);
  }
}
