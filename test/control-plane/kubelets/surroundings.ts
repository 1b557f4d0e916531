import type { Logger } from 'pino';
import type { ApiClient } from '../../../src/cluster/client/api-client.ts';

/** What all kubelets of a control plane share. */
export interface Surroundings {
  readonly client: ApiClient;
  readonly log: Logger;
}

/** The API server is on this machine: what it misses while it starts again is caught up at once. In milliseconds. */
export const WATCH_AGAIN = { backOffMaxMs: 1_000 };
