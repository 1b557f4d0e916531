import type { Logger } from 'pino';
import type { ClusterNode } from '../../cluster/cluster-objects.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { type NodePod, podName } from '../../evictions/node-pods.ts';
import type { ObjectReference, RecordedEvent } from '../../kubernetes/event.ts';
import { formatTaint, type Taint } from '../../kubernetes/taint.ts';
import { atMost, count } from '../../kubernetes/text.ts';
import { policyReference } from '../../policy/policy-events.ts';
import type { CompiledTaintPolicy } from '../../policy/policy-set.ts';
import { reportOnNode } from './report-on-node.ts';

/** A pod that was scheduled to a node while taints were missing. */
export interface MisplacedPod {
  readonly pod: NodePod;
  /** The missing taints that the pod does not tolerate. */
  readonly taints: readonly Taint[];
  /** The policies that protect one of these taints; never empty. */
  readonly policies: readonly CompiledTaintPolicy[];
}

/** Pods that one note names. */
const MAX_NAMED = 5;
/** Pods of one report that get an Event of their own. */
const MAX_REPORTED = 20;

/** `2 pods landed while dedicated=gpu:NoSchedule was missing: default/a, default/b`; undefined for none. */
export function misplacedPodsText(found: readonly MisplacedPod[]): string | undefined {
  if (found.length === 0) return undefined;
  const named = atMost(
    MAX_NAMED,
    found.map(({ pod }) => podName(pod)),
  );
  return `${count(found.length, 'pod')} landed while ${missing(found)}: ${named.join(', ')}`;
}

function missing(found: readonly MisplacedPod[]): string {
  const taints = [...new Set(found.flatMap((one) => one.taints.map(formatTaint)))].sort();
  return `${atMost(MAX_NAMED, taints).join(', ')} ${taints.length === 1 ? 'was' : 'were'} missing`;
}

type NodeEntry = Entry<ClusterNode>;

/** Reports pods that were newly found on a node: Events and a log line. */
export function misplacedPodReports(
  recordEvent: (event: RecordedEvent) => void,
  log: Logger,
): (node: NodeEntry, found: readonly MisplacedPod[]) => void {
  const report = reportOnNode(recordEvent, log);
  return (node, found) => {
    const event = { type: 'Warning', reason: 'PodMisplaced', action: 'ReportPod' } as const;
    const text = misplacedPodsText(found);
    if (text === undefined) return;
    report(node, { ...event, note: `${text}, and do not tolerate it` });
    for (const name of policiesOf(found)) {
      const own = found.filter(({ policies }) => policies.some((policy) => policy.name === name));
      const regarding = policyReference({ kind: 'TaintPolicy', name });
      recordEvent({ regarding, ...event, note: `Node ${node.name}: ${misplacedPodsText(own)}` });
    }
    for (const { pod, taints } of found.slice(0, MAX_REPORTED)) {
      const note = `landed on Node ${node.name} while ${missing([{ pod, taints, policies: [] }])}, and does not tolerate it`;
      recordEvent({ regarding: podReference(pod), ...event, note });
    }
  };
}

function policiesOf(found: readonly MisplacedPod[]): string[] {
  return [...new Set(found.flatMap(({ policies }) => policies.map(({ name }) => name)))].sort();
}

function podReference({ namespace, name, uid }: NodePod): ObjectReference {
  return { apiVersion: 'v1', kind: 'Pod', namespace, name, uid };
}
