import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { holderOf, leaseStore } from '../cluster/lease/lease.ts';
import type { Installation, LeaseWatch } from './configuration-facts.ts';

/** Three times the period in which a leader renews: one lost answer must not count. */
const WATCH_MS = 6_000;
const POLL_MS = 250;
const REQUEST_TIMEOUT_MS = 3_000;

/**
 * Looks at the Lease until somebody renews it, or for six seconds. Most leaders have done so after two.
 * @throws ApiError, Error
 */
export async function watchLease(
  client: ApiClient,
  { namespace, lease }: Pick<Installation, 'namespace' | 'lease'>,
  { watchMs = WATCH_MS } = {},
): Promise<LeaseWatch> {
  const store = leaseStore(client, namespace, lease);
  const started = performance.now();
  const look = () => store.read({ timeoutMs: REQUEST_TIMEOUT_MS, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  const first = await look();
  for (;;) {
    const now = await look();
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
    await delay(POLL_MS);
  }
}
