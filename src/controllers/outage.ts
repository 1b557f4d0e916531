import type { WatchState } from '../cluster/watch/watch-options.ts';

/** A restart of the API server takes less time, and is no problem. */
const OUTAGE_MS = 30_000;

/** For how long a watch has had no connection. */
export interface Outage {
  observe(state: WatchState): void;
  /** The last error, if there has been no connection for half a minute. */
  error(): string | undefined;
}

export function createOutage(): Outage {
  let outage: { readonly since: number; readonly error: string } | undefined;
  return {
    observe(state) {
      outage = state.connected ? undefined : { since: outage?.since ?? performance.now(), error: state.error };
    },
    error: () => (outage && performance.now() - outage.since >= OUTAGE_MS ? outage.error : undefined),
  };
}
