import { setTimeout as delay } from 'node:timers/promises';
import { admin } from '../control-plane/users.ts';
import { metricOf, type StoredEvent } from '../e2e/drift.ts';
import { leaderOf } from '../e2e/installation.ts';
import type { Node } from '../e2e/nodes.ts';
import { POLICIES_PATH } from '../e2e/policy-resources.ts';
import { lacking, listNodes, type Pool, putRight } from './pools.ts';
import type { Site } from './site.ts';
import type { Traffic } from './traffic.ts';

/** What became of what passed while taintkeeper was not asked. */
export interface Losses {
  /** Nodes whose taints were put back. */
  readonly restored: number;
  /** Nodes and DaemonSets that stay without, and of which that is told. */
  readonly reported: number;
  /** Those of which nothing is told. There must be none. */
  readonly unreported: readonly string[];
}

/** The policies' status is written every 5 s at most, and Events no faster than their rate: what was found last has to show. */
const TOLD_WITHIN_MS = 20_000;

/** Counts what became of the losses once that is told, or should have been, and puts right what was only told of. */
export async function settleLosses(site: Site, traffic: Traffic): Promise<Losses> {
  const deadline = performance.now() + TOLD_WITHIN_MS;
  let losses = await auditLosses(site, traffic);
  while (losses.unreported.length > 0 && performance.now() < deadline) {
    await delay(500);
    losses = await auditLosses(site, traffic);
  }
  for (const node of await listNodes(site.cp)) {
    const pool = poolOf(site, node);
    if (pool && lacking(pool, node).length > 0) await putRight(site.cp, pool, node.metadata.name);
  }
  return losses;
}

/** Looks at all nodes, not only at those whose loss was seen to pass: an answer may have got lost. */
async function auditLosses(site: Site, traffic: Traffic): Promise<Losses> {
  const lost = new Set(traffic.lost());
  const isTold = await reportsOf(site, traffic.since());
  let restored = 0;
  let reported = 0;
  const unreported: string[] = [];
  for (const node of await listNodes(site.cp)) {
    const { name } = node.metadata;
    const pool = poolOf(site, node);
    if (!pool) continue;
    if (lacking(pool, node).length === 0) {
      if (lost.has(name)) restored++;
      continue;
    }
    if (isTold(name)) reported++;
    else unreported.push(name);
  }
  const untolerating = traffic.untolerating().length;
  const told = await untoleratingInMetrics(site);
  if (told >= untolerating) reported += untolerating;
  else unreported.push(`${untolerating - told} of ${untolerating} DaemonSets`);
  return { restored, reported, unreported };
}

function poolOf({ pools }: Site, { metadata }: Node): Pool | undefined {
  return Object.values(pools).find(({ nodes }) => nodes.includes(metadata.name));
}

/** Whether an Event or a line in the log of a replica, since then, or the status of a policy says something of the node. */
async function reportsOf({ cp, installation }: Site, since: number): Promise<(node: string) => boolean> {
  const events = await cp.request<{ items: TimedEvent[] }>(
    admin,
    'GET',
    '/apis/events.k8s.io/v1/namespaces/default/events',
  );
  const reasons = ['TaintMissing', 'TaintConflict', 'TaintRestored', 'TaintAdded'];
  const told = new Set(
    events.body.items
      .filter(({ reason, eventTime, series }) => {
        return reasons.includes(reason) && Date.parse(series?.lastObservedTime ?? eventTime ?? '') >= since;
      })
      .map(({ regarding }) => regarding.name),
  );
  const policies = await cp.request<{ items: { status?: object }[] }>(admin, 'GET', POLICIES_PATH.TaintPolicy);
  const statuses = policies.body.items.map(({ status }) => JSON.stringify(status ?? {})).join(' ');
  const logs = [...installation.replicas.values()]
    .flatMap((replica) => replica.logs().flatMap(({ msg, time }) => (Date.parse(String(time)) >= since ? [msg] : [])))
    .join('\n');
  return (node) => {
    const named = new RegExp(`(?<![\\w-])${node}(?![\\w-])`);
    return told.has(node) || named.test(statuses) || logs.includes(`Node ${node}: TaintPolicy`);
  };
}

type TimedEvent = StoredEvent & {
  readonly eventTime?: string;
  readonly series?: { readonly lastObservedTime: string };
};

async function untoleratingInMetrics({ cp, installation }: Site): Promise<number> {
  const leader = installation.replicas.get(await leaderOf(cp));
  return (leader && (await metricOf(leader, 'taintkeeper_drift_daemonsets{policy="cni-tolerations"}'))) ?? 0;
}
