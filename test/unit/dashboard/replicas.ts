import { type AddressInfo, connect, type Socket } from 'node:net';
import { Registry } from '@prometheus-io/client';
import { onTestFinished } from 'vitest';
import type { Replica } from '../../../src/dashboard/reachable-replicas.ts';
import { createDecisionLog } from '../../../src/page/decision-log.ts';
import { createExplanations } from '../../../src/page/explanations.ts';
import { pageRoutes } from '../../../src/page/page-routes.ts';
import { createStateFeed } from '../../../src/page/state-feed.ts';
import { createAdminServer } from '../../../src/server/admin-server.ts';
import { nodeRequest } from '../admission/requests.ts';
import { judged, nodeObject, taint } from '../page/judged.ts';
import { pageSources } from '../page/page-sources.ts';

export interface RunningReplica extends Replica {
  readonly url: URL;
  /** Makes a decision about a request of this uid, of a user of its own, now unless said otherwise. */
  decide(uid: string, at?: Date): void;
  /** Who leads, as this replica has it from now on. */
  setLeader(name: string): void;
  /** Ends all connections, as a broken network would. */
  cut(): void;
}

/** The admin listener of a replica on a free port, that goes with the running test. */
export async function startReplica(name: string, leader = name): Promise<RunningReplica> {
  let leading = leader;
  let clock = new Date();
  const decisions = createDecisionLog({ replica: name, now: () => clock });
  const sources = pageSources({ replica: name, leader: () => ({ isThis: leading === name, name: leading }) });
  const feed = createStateFeed(sources, { maxAgeMs: 0, pauseMs: 0 });
  const files = { 'index.html': `<!doctype html><title>${name}</title>` };
  const admin = createAdminServer({
    checks: () => [],
    registry: new Registry(),
    page: pageRoutes({ files, feed, decisions, explain: createExplanations(sources) }),
  });
  await admin.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => admin.close());
  const { port } = admin.server.address() as AddressInfo;
  const open = new Set<Socket>();
  return {
    name,
    async dial() {
      const socket = connect({ host: '127.0.0.1', port });
      open.add(socket);
      return socket;
    },
    url: new URL(`http://127.0.0.1:${port}`),
    decide(uid, at = new Date()) {
      clock = at;
      const request = nodeRequest({ object: nodeObject([]), oldObject: nodeObject([taint('keep')]) });
      decisions.record(judged({ ...request, uid, userInfo: { username: `user of ${uid}` } }, 'validate'));
    },
    setLeader(next) {
      leading = next;
    },
    cut() {
      for (const socket of open) socket.destroy();
      open.clear();
    },
  };
}
