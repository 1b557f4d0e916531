import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { NAMESPACE } from '../../../../scripts/chart.ts';
import { admin } from '../../../control-plane/users.ts';
import { waitUntil } from '../../../control-plane/wait-until.ts';
import { webhookConnections } from '../../backends.ts';
import { isDisturbed, type LoadSummary, type Sent, startLoad, summarize } from '../../load.ts';
import { installProduct, markControlPlane, productPods, readyPods } from '../../product.ts';
import { type RealCluster, startRealCluster } from '../../real-cluster.ts';
import { callOnly } from '../called.ts';
import { watchHealth } from '../health.ts';
import type { Lever } from './lever.ts';

const LOST = 'n2';
const TIMEOUT_MS = 240_000;
/** After nobody is led to the lost replica any more: what was on its way by then. */
const LATE_MS = 6_000;

/** Times in seconds after the link went down. */
export interface Lost {
  readonly summary: LoadSummary;
  /** Of the requests that were not answered rightly, the number of each kind. */
  readonly removals: { readonly failed: number; readonly missed: number };
  readonly daemonSets: { readonly failed: number; readonly missed: number };
  /** How many connections the API server had to the replica on each node when the link went down. */
  readonly connections: ReadonlyMap<string, number>;
  /** The end of the last request that was failed, missed or slow; 0 for none. */
  readonly troubledUntil: number;
  /** When each request that was failed, missed or slow was sent. */
  readonly troubledAt: readonly number[];
  /** When the lost replica was ready no more, for those who lead requests to it. */
  readonly unreadyAfter: number;
  /** When there were two that were ready again, where that was waited for. */
  readonly replacedAfter: number | undefined;
  readonly machineLoad: number;
}

/** Takes the second of two nodes off the wire, while the replica on one of them is called, and no other. */
export async function loseNode(lever: Lever): Promise<Lost> {
  await using cluster = await startRealCluster({ nodes: 2 });
  await markControlPlane(cluster, 'n1');
  await installProduct(cluster);
  await lever.set(cluster);
  const health = watchHealth(cluster);
  await health.rightFor(2_000).finally(health.stop);
  const { clients, perSecond } = lever.load;
  const startedAt = performance.now();
  const loads = Array.from({ length: clients }, () => startLoad(cluster, { perSecond }));
  await callOnly(cluster, lever.called);
  const connections = await webhookConnections(cluster);
  const beganAt = performance.now();
  const passed = () => (performance.now() - beganAt) / 1000;
  await cluster.nodes[1]?.setLink('down');

  await waitUntil(async () => ((await isLedTo(cluster, LOST)) ? undefined : true), {
    timeoutMs: TIMEOUT_MS,
    otherwise: () => 'requests are led to the lost replica all the same',
  });
  const unreadyAfter = passed();
  let replacedAfter: number | undefined;
  if (lever.untilReplaced) {
    await waitUntil(async () => (readyPods(await productPods(cluster)).length === 2 ? true : undefined), {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'no Ready pod replaced the lost replica',
    });
    replacedAfter = passed();
  }
  await delay(LATE_MS);
  const since = (beganAt - startedAt) / 1000;
  const sent = (await Promise.all(loads.map((load) => load.stop())))
    .flat()
    .map((one) => ({ ...one, at: one.at - since }))
    .filter(({ at, seconds }) => at + seconds >= 0)
    .toSorted((one, other) => one.at - other.at);
  const troubled = sent.filter(isDisturbed);
  return {
    summary: summarize(sent),
    removals: failures(sent.filter(({ what }) => what === 'removal')),
    daemonSets: failures(sent.filter(({ what }) => what === 'daemonset')),
    connections,
    troubledUntil: Math.max(0, ...troubled.map(({ at, seconds }) => at + seconds)),
    troubledAt: troubled.map(({ at }) => at),
    unreadyAfter,
    replacedAfter,
    machineLoad: loadavg()[0] ?? 0,
  };
}

function failures(sent: readonly Sent[]): { failed: number; missed: number } {
  const count = (outcome: Sent['outcome']) => sent.filter((one) => one.outcome === outcome).length;
  return { failed: count('failed'), missed: count('missed') };
}

/** Whether the replica on this node is among those that requests are led to. */
async function isLedTo(cluster: RealCluster, node: string): Promise<boolean> {
  const { body } = await cluster.request<{
    items: { endpoints?: { nodeName?: string; conditions: { ready?: boolean } }[] }[];
  }>(admin, 'GET', `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`);
  const endpoints = body.items.flatMap((slice) => slice.endpoints ?? []);
  return endpoints.some(({ nodeName, conditions }) => nodeName === node && conditions.ready);
}
