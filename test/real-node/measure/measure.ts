import { loadavg } from 'node:os';
import { waitUntil } from '../../control-plane/wait-until.ts';
import { webhookConnections } from '../backends.ts';
import { isDisturbed, type LoadSummary, startLoad, summarize } from '../load.ts';
import { installProduct, markControlPlane } from '../product.ts';
import { startRealCluster } from '../real-cluster.ts';
import { callOnly } from './called.ts';
import { leaderNode, leadFrom, watchHealth } from './health.ts';
import type { Outage } from './outage.ts';

/** So long all has to be right before it counts as over: what comes late must be seen. Longer than a Lease lasts after its leader. */
const RIGHT_FOR_MS = 16_000;
const CALLED_TIMEOUT_MS = 60_000;

export interface Measured {
  readonly summary: LoadSummary;
  /** From the end of what is done until the replicas and the requests were right for good. */
  readonly rightAfterMs: number;
  /** What the answers said that were not right, with how often. */
  readonly reasons: readonly [string, number][];
  /** The node whose replica was called when it began, and that of the leader. */
  readonly called: string;
  readonly leader: string;
  /** Of the machine, at the end. */
  readonly machineLoad: number;
}

/** Plays one outage on two nodes of its own. */
export async function measure(outage: Outage, perSecond: number): Promise<Measured> {
  await using cluster = await startRealCluster({ nodes: 2, kubeletConfig: outage.kubeletConfig ?? {} });
  await markControlPlane(cluster, 'n1');
  await (outage.install ?? installProduct)(cluster);
  const health = watchHealth(cluster);
  try {
    await health.rightFor(2_000);
    if (outage.leads) await leadFrom(cluster, outage.leads);
    const leader = (await leaderNode(cluster)) ?? '';
    const called = { leader, other: leader === 'n1' ? 'n2' : 'n1', n2: 'n2' }[outage.called];
    const load = startLoad(cluster, { perSecond });
    const startedAt = performance.now();
    let connected = '';
    await waitUntil(
      async () => {
        await callOnly(cluster, called);
        await health.rightFor(2_000);
        // On a busy machine a further connection may be opened meanwhile, to either.
        connected = [...(await webhookConnections(cluster)).keys()].join();
        return connected === called ? true : undefined;
      },
      { timeoutMs: CALLED_TIMEOUT_MS, otherwise: () => `called is ${connected}, not ${called}` },
    );
    const beganAt = performance.now();
    await outage.run({ cluster, called });
    const endedAt = performance.now();
    await health.rightFor(RIGHT_FOR_MS);
    const sent = (await load.stop()).filter(({ at, seconds }) => startedAt + (at + seconds) * 1000 >= beganAt);
    const lastTrouble = sent.filter(isDisturbed).map(({ at, seconds }) => startedAt + (at + seconds) * 1000);
    const reasons = new Map<string, number>();
    for (const { outcome, message } of sent.filter((one) => one.outcome !== 'right')) {
      const reason = message || `${outcome}, without a word`;
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
    return {
      summary: summarize(sent),
      rightAfterMs: Math.max(0, ...[...lastTrouble, health.lastWrongAt ?? 0].map((time) => time - endedAt)),
      reasons: [...reasons].toSorted(([, one], [, other]) => other - one),
      called,
      leader,
      machineLoad: loadavg()[0] ?? 0,
    };
  } finally {
    await health.stop();
  }
}
