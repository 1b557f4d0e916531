import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ClusterPolicies } from '../../cluster/policies/policies.ts';
import { isNews } from '../../cluster/watch/cached-objects.ts';
import {
  remainingStartupTaints,
  remainingText,
  STARTUP_TAINT_LIMIT_MS,
} from '../../judge/startup/remaining-startup-taints.ts';
import { formatTaint } from '../../kubernetes/taint.ts';
import type { RecordedEvent } from '../../policy/reporting/recorded-event.ts';
import type { WatchedNodes } from '../cluster-watches.ts';
import { addChanged, type Controller, type Run, startControllerQueue } from '../controller.ts';
import { lastTaintWriter } from '../last-taint-writer.ts';
import { recordOnNode } from '../record-on-node.ts';

export interface RemainingStartupTaintsOptions {
  readonly client: ApiClient;
  readonly nodes: WatchedNodes;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'changes'>;
  readonly recordEvent: (event: RecordedEvent) => void;
}

const NAME = 'startup-taints';
const CONCURRENCY = 2;

/** Reports startup taints that remain on Ready nodes: their agent or controller does not remove them, and pods stay away. */
export function startRemainingStartupTaints(run: Run, options: RemainingStartupTaintsOptions): Controller {
  const { client, nodes, policies, recordEvent } = options;
  const { signal } = run;
  const record = recordOnNode(recordEvent, run.log);
  /** The taints that were recorded, by the name of the node. */
  const recorded = new Map<string, string>();
  const queue = startControllerQueue(run, NAME, { work: check, concurrency: CONCURRENCY });
  nodes.changes.subscribe((change) => {
    if (isNews(change)) addChanged(queue, change, change.entry.name);
  }, signal);
  policies.changes.subscribe(() => {
    for (const { name, value } of nodes.entries()) if (value.taintedSince !== undefined) queue.restart(name);
  }, signal);

  return { stop: queue.stop };

  /** @returns in how many milliseconds the taints of the node will have been there for too long */
  async function check(name: string): Promise<number | undefined> {
    const node = nodes.get(name);
    const since = node?.value.taintedSince;
    const taints =
      node && since !== undefined ? remainingStartupTaints(node.value, policies.snapshot().compiled.taintPolicies) : [];
    if (!node || since === undefined || taints.length === 0) {
      recorded.delete(name);
      return undefined;
    }
    const forMs = client.now().getTime() - since;
    if (forMs <= STARTUP_TAINT_LIMIT_MS) return STARTUP_TAINT_LIMIT_MS - forMs + 1;
    const what = `${node.uid} ${taints.map(formatTaint).join(' ')}`;
    if (recorded.get(name) === what) return undefined;
    const writer = await lastTaintWriter(client, name);
    recorded.set(name, what);
    const note = `${remainingText(taints, forMs)}${writer === undefined ? '' : `, last written by ${writer}`}`;
    record(node, { type: 'Warning', reason: 'StartupTaintRemains', action: 'ReportTaint', note });
    return undefined;
  }
}
