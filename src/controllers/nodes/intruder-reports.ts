import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { type NodePod, podName } from '../../evictions/node-pods.ts';
import type { ObjectReference, RecordedEvent } from '../../kubernetes/event.ts';
import { formatTaint, type Taint } from '../../kubernetes/taint.ts';
import { atMost, count } from '../../kubernetes/text.ts';
import { POLICY_API_VERSION } from '../../policy/policy.ts';
import type { CompiledTaintPolicy } from '../../policy/policy-set.ts';
import type { LeaderContext } from '../context.ts';
import type { ClusterNode } from '../sources.ts';

/** A pod that landed while taints were missing. */
export interface IntruderFound {
  readonly pod: NodePod;
  /** Those that it does not tolerate. */
  readonly taints: readonly Taint[];
  /** That protect one of them; never empty. */
  readonly policies: readonly CompiledTaintPolicy[];
}

/** Pods that one note names, and that get an Event of their own at a time. */
const MAX_NAMED = 5;
const MAX_TOLD = 20;

/** `2 pods landed while dedicated=gpu:NoSchedule was missing: default/a, default/b`; undefined for none. */
export function intrudersText(found: readonly IntruderFound[]): string | undefined {
  if (found.length === 0) return undefined;
  const named = atMost(
    MAX_NAMED,
    found.map(({ pod }) => podName(pod)),
  );
  return `${count(found.length, 'pod')} landed while ${missing(found)}: ${named.join(', ')}`;
}

function missing(found: readonly IntruderFound[]): string {
  const taints = [...new Set(found.flatMap((one) => one.taints.map(formatTaint)))].sort();
  return `${atMost(MAX_NAMED, taints).join(', ')} ${taints.length === 1 ? 'was' : 'were'} missing`;
}

type NodeEntry = Entry<ClusterNode>;

/** What is told of intruders, by Events and log lines. */
export interface IntruderTelling {
  /** All that were found anew on a node. */
  landed(node: NodeEntry, found: readonly IntruderFound[]): void;
  evicted(node: NodeEntry, found: IntruderFound): void;
  /** Said once, whatever becomes of later attempts. @param why what the API server says */
  heldBack(node: NodeEntry, found: IntruderFound, why: string): void;
}

export function intruderReports({ record, log }: Pick<LeaderContext, 'record' | 'log'>): IntruderTelling {
  return { landed, evicted, heldBack };

  function landed(node: NodeEntry, found: readonly IntruderFound[]): void {
    const said = { type: 'Warning', reason: 'IntruderFound', action: 'ReportPod' } as const;
    const text = intrudersText(found);
    if (text === undefined) return;
    record({ regarding: nodeReference(node), ...said, note: `${text}, and do not tolerate it` });
    for (const name of policiesOf(found)) {
      const own = found.filter(({ policies }) => policies.some((policy) => policy.name === name));
      record({ regarding: policyReference(name), ...said, note: `Node ${node.name}: ${intrudersText(own)}` });
    }
    for (const { pod, taints } of found.slice(0, MAX_TOLD)) {
      const note = `landed on Node ${node.name} while ${missing([{ pod, taints, policies: [] }])}, and does not tolerate it`;
      record({ regarding: podReference(pod), ...said, note });
    }
    log.warn(`Node ${node.name}: ${text}`);
  }

  function evicted(node: NodeEntry, found: IntruderFound): void {
    const said = { type: 'Normal', reason: 'IntruderEvicted', action: 'EvictPod' } as const;
    tellOfOne(node, found, said, 'evicted');
    log.info(`evicted Pod ${podName(found.pod)} from Node ${node.name}: it landed while ${missing([found])}`);
  }

  function heldBack(node: NodeEntry, found: IntruderFound, why: string): void {
    const said = { type: 'Warning', reason: 'IntruderHeldBack', action: 'WaitToEvict' } as const;
    tellOfOne(node, found, said, 'not evicted yet, and tried again:', ` (${why})`);
    log.warn(`Pod ${podName(found.pod)} on Node ${node.name} is not evicted yet: ${why}`);
  }

  function tellOfOne(
    node: NodeEntry,
    found: IntruderFound,
    said: Pick<RecordedEvent, 'type' | 'reason' | 'action'>,
    done: string,
    more = '',
  ): void {
    const { pod, policies } = found;
    const why = `landed while ${missing([found])}${more}`;
    record({ regarding: nodeReference(node), ...said, note: `${done} Pod ${podName(pod)}, which ${why}` });
    record({ regarding: podReference(pod), ...said, note: `${done} from Node ${node.name}: it ${why}` });
    for (const { name } of policies) {
      record({
        regarding: policyReference(name),
        ...said,
        note: `Node ${node.name}: ${done} Pod ${podName(pod)}${more}`,
      });
    }
  }
}

function policiesOf(found: readonly IntruderFound[]): string[] {
  return [...new Set(found.flatMap(({ policies }) => policies.map(({ name }) => name)))].sort();
}

function nodeReference({ name, uid }: NodeEntry): ObjectReference {
  return { apiVersion: 'v1', kind: 'Node', name, uid };
}

function podReference({ namespace, name, uid }: NodePod): ObjectReference {
  return { apiVersion: 'v1', kind: 'Pod', namespace, name, uid };
}

function policyReference(name: string): ObjectReference {
  return { apiVersion: POLICY_API_VERSION, kind: 'TaintPolicy', name };
}
