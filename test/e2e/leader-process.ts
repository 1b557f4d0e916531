import { pino } from 'pino';
import { type ApiClient, connect } from '../../src/cluster/client/api-client.ts';
import { ApiError } from '../../src/cluster/client/api-error.ts';
import { leaderClient } from '../../src/cluster/lease/leader-client.ts';
import { electLeader } from '../../src/cluster/lease/leader-election.ts';
import type { LeaderTimings } from '../../src/cluster/lease/leader-timings.ts';
import type { Leadership } from '../../src/cluster/lease/leadership.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';

// A process that takes part in the election and, while it leads, appends to a list in the ConfigMap `written` as fast as it
// can, each time with its name and the number of its term. Each line it prints is a JSON object of a log. Arguments: kubeconfig, identity.
const [kubeconfig = '', identity = ''] = process.argv.slice(2);
/** Short enough to wait for its end. A machine that is busy may delay a renewal by seconds, and ends no term by that. */
const TIMINGS: LeaderTimings = { leaseDurationMs: 6_000, renewDeadlineMs: 5_000, retryPeriodMs: 500 };
const log = pino({ base: null });
const client = await connect({ kubeconfig, userAgent: `leader-process ${identity}` });

/** One write after the other, each made from what was read before, until the lease is lost. */
async function write(writer: ApiClient, leadership: Leadership, as: string): Promise<void> {
  const path = '/api/v1/namespaces/default/configmaps/written';
  while (leadership.held()) {
    try {
      const { metadata, data } = await client.request<ConfigMap>('GET', path);
      const by = `${data?.by ?? ''} ${as}`;
      const body = { metadata: { resourceVersion: metadata.resourceVersion }, data: { by } };
      await writer.request('PATCH', path, { body, contentType: MERGE_PATCH });
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) log.info('refused');
      else if (leadership.held()) throw error;
    }
  }
}

interface ConfigMap {
  metadata: { resourceVersion: string };
  data?: { by?: string };
}

let terms = 0;
const election = electLeader({
  client,
  namespace: 'default',
  name: 'leader-process',
  identity,
  log,
  timings: TIMINGS,
  async lead(leadership) {
    terms++;
    await write(leaderClient(client, leadership), leadership, `${identity}.${terms}`);
    log.info('led');
  },
});

process.once('SIGTERM', async () => {
  await election.stop();
  client.close();
});
