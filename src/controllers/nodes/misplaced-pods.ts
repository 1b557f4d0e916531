import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ClusterNode } from '../../cluster/cluster-objects.ts';
import { listNodePods } from '../../cluster/node-pods.ts';
import type { NodeRecords } from '../../cluster/node-records.ts';
import type { ClusterPolicies } from '../../cluster/policies.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import {
  type Custodies,
  isMisplaced,
  type MisplacedOnNode,
  misplacedPodsState,
  type ReturnedTaint,
  takeNotice,
} from '../../evictions/misplaced-pods.ts';
import { type NodePod, podName } from '../../evictions/node-pods.ts';
import { recordedTaints } from '../../judge/node-record.ts';
import type { RecordedEvent } from '../../kubernetes/event.ts';
import { formatTaint } from '../../kubernetes/taint.ts';
import { selectingPolicies } from '../../policy/policy-index.ts';
import { ONCE_ESTABLISHED } from '../../policy/policy-set.ts';
import { reported } from '../../policy/status-conditions.ts';
import { type BackOff, createBackOff } from '../../runtime/back-off.ts';
import type { Source } from '../../runtime/source.ts';
import { type Controller, type Run, startControllerQueue } from '../controller.ts';
import type { Reports } from '../reports.ts';
import type { Rights } from '../rights.ts';
import { isNews, type WatchedNodes } from '../sources.ts';
import { type MisplacedPod, misplacedPodReports, misplacedPodsText } from './misplaced-pod-reports.ts';

export interface MisplacedPodsOptions {
  readonly client: ApiClient;
  readonly nodes: WatchedNodes;
  readonly nodeRecords: Pick<NodeRecords, 'recordOf' | 'changes'>;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'changes'>;
  readonly rights: Rights;
  /** See {@link Leadership}. */
  readonly predecessorAt: number | undefined;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly reports: Pick<Reports, 'add'>;
}

const NAME = 'misplaced-pods';
/** After this time, the scheduler has finished the bindings that it had begun when the taint was restored. */
const SCHEDULED_MS = 1_000;
/**
 * Pods end without notice to this controller. While nothing changes, the status is checked again ever more rarely: a misplaced pod
 * can live for months, and each check lists the pods of its node.
 */
const CHECK_AGAIN = { minMs: 60_000, maxMs: 600_000 };
/** Each lists the pods of one node. */
const CONCURRENCY = 2;

/** A node whose missing taints were restored. */
interface Case {
  /** By the taint, as {@link formatTaint} writes it. */
  readonly returned: Map<string, ReturnedTaint>;
  found: readonly MisplacedPod[];
  /** The uids of pods that were reported. */
  readonly reported: Set<string>;
  readonly checkAgain: BackOff;
}

export interface MisplacedPods extends Controller {
  /** The pods that landed on the node while a taint was missing, in words. */
  misplacedPodsOn(node: string): string | undefined;
  /** Emits when the answer of {@link misplacedPodsOn} may have changed. */
  readonly changes: Source;
}

/** Reports the pods that landed on nodes while protected taints were missing. */
export function startMisplacedPods(run: Run, options: MisplacedPodsOptions): MisplacedPods {
  const { client, nodes, nodeRecords, policies, rights, predecessorAt, reports } = options;
  const { signal } = run;
  const custodies = new Map<string, { readonly uid: string; readonly taints: Custodies }>();
  const cases = new Map<string, Case>();
  const report = misplacedPodReports(options.recordEvent, run.log);
  const queue = startControllerQueue(run, NAME, { work: check, concurrency: CONCURRENCY });
  const changes = reports.add({
    conditions: ({ kind, name }) => (kind === 'TaintPolicy' ? reported('MisplacedPods', stateOf(name)) : []),
  });
  nodes.changes.subscribe((change) => {
    // A heartbeat changes neither taints nor labels.
    if (!isNews(change)) return;
    const { name } = change.entry;
    const entry = nodes.get(name);
    if (entry) notice(entry);
    else forget(name);
  }, signal);
  // The record shows which taints were removed with permission.
  nodeRecords.changes.subscribe((name) => {
    const entry = custodies.has(name) ? nodes.get(name) : undefined;
    if (entry) notice(entry);
  }, signal);
  for (const source of [policies.changes, rights.changes]) {
    source.subscribe(() => {
      for (const name of cases.keys()) queue.restart(name);
    }, signal);
  }

  return {
    misplacedPodsOn: (name) => misplacedPodsText(cases.get(name)?.found ?? []),
    changes,
    stop: queue.stop,
  };

  function notice({ name, uid, value }: Entry<ClusterNode>): void {
    const known = custodies.get(name);
    if (known && known.uid !== uid) forget(name);
    const before = known?.uid === uid ? known.taints : undefined;
    const node = { ...value, recorded: recordedTaints(nodeRecords.recordOf(name), uid) };
    const { taintPolicies } = policies.snapshot().compiled;
    const { after, returned } = takeNotice(node, taintPolicies, before, client.now().getTime(), predecessorAt);
    custodies.set(name, { uid, taints: after });
    if (returned.length === 0) return;
    const found = cases.get(name) ?? newCase();
    for (const one of returned) found.returned.set(formatTaint(one.taint), one);
    found.checkAgain.reset();
    cases.set(name, found);
    queue.add(name, SCHEDULED_MS);
  }

  function forget(name: string): void {
    custodies.delete(name);
    if (cases.delete(name)) changes.next();
  }

  async function check(name: string): Promise<number | undefined> {
    const entry = nodes.get(name);
    const found = cases.get(name);
    // A permission that is granted later puts the node into the queue again.
    if (!entry || !found || !rights.permits('listPods')) return undefined;
    for (const text of found.returned.keys()) {
      // The taint has been removed with permission since.
      if (!custodies.get(name)?.taints.has(text)) found.returned.delete(text);
    }
    const returned = new Set(found.returned.values());
    const pods = await listNodePods(client, name, signal);
    // The node was deleted, or replaced by another one of its name.
    if (cases.get(name) !== found) return undefined;
    const before = found.found.length;
    found.found = misplacedAmong(pods, entry.value, found);
    const news = found.found.filter(({ pod }) => !found.reported.has(pod.uid));
    for (const { pod } of news) found.reported.add(pod.uid);
    report(entry, news);
    // Taints that returned while the pods were listed need another check.
    const isDone = found.found.length === 0 && [...found.returned.values()].every((one) => returned.has(one));
    if (isDone && cases.get(name) === found) cases.delete(name);
    changes.next();
    if (news.length > 0 || found.found.length !== before) found.checkAgain.reset();
    return found.found.length === 0 ? undefined : found.checkAgain.next();
  }

  function misplacedAmong(pods: readonly NodePod[], node: ClusterNode, { returned }: Case): MisplacedPod[] {
    const selecting = selectingPolicies(policies.snapshot().compiled.taintPolicies, node.labels);
    const disagreementMs = client.clockDisagreementMs();
    return pods.flatMap((pod) => {
      const by = [...returned.values()]
        .filter((one) => isMisplaced(pod, one, disagreementMs))
        .map(({ taint }) => taint);
      const meant = selecting.filter((policy) =>
        by.some((taint) => policy.removalRestrictedBy(taint, ONCE_ESTABLISHED) !== undefined),
      );
      return meant.length === 0 ? [] : [{ pod, taints: by, policies: meant }];
    });
  }

  function stateOf(policy: string) {
    const found = [...cases].map(([node, one]): MisplacedOnNode => {
      const own = one.found.filter(({ policies: meant }) => meant.some(({ name }) => name === policy));
      return { node, pods: own.map(({ pod }) => podName(pod)) };
    });
    return misplacedPodsState(found);
  }
}

function newCase(): Case {
  return { returned: new Map(), found: [], reported: new Set(), checkAgain: createBackOff(CHECK_AGAIN) };
}
