import type { Logger } from 'pino';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { REMEMBERED_ANNOTATION, readsRecords } from '../../judge/memory.ts';
import type { DesiredNode } from '../../judge/node-view.ts';
import { REMOVED_ANNOTATION } from '../../judge/removal.ts';
import type { RecordedEvent } from '../../kubernetes/event.ts';
import { POLICY_API_VERSION } from '../../policy/policy.ts';
import type { CompiledTaintPolicy } from '../../policy/policy-set.ts';
import { createAttempts } from '../../runtime/back-off.ts';
import type { Trouble } from '../reports.ts';
import type { ClusterNode } from '../sources.ts';
import { otherWriterOf, troublesOf } from './other-writers.ts';
import { FIGHT } from './taint-contests.ts';

/** Breaks the circuit between taintkeeper and another writer of its annotations on a node: the taints are as they should be. */
export interface RecordContests {
  /** The node was made as desired. */
  wrote(node: Entry<ClusterNode>, desired: DesiredNode): void;
  /** Whether it was made so too often to be written again now. Never where taints change: they are counted by themselves. */
  isContested(node: Entry<ClusterNode>, desired: DesiredNode): boolean;
  /** Finds out who changes the annotations, and reports it once, on the node and on the policies that read them. */
  open(node: Entry<ClusterNode>, desired: DesiredNode, policies: readonly CompiledTaintPolicy[]): Promise<void>;
  /** In how many milliseconds the node may be written again, or its contest is over; undefined where there is none. */
  nextLookMs(node: Entry<ClusterNode>): number | undefined;
  gone(name: string): void;
  /** Forgets what is out of the window. */
  forget(): void;
  troubles(): readonly Trouble[];
}

interface Contest {
  readonly key: string;
  readonly text: string;
  readonly policies: readonly string[];
}

export function trackRecordContests(options: {
  readonly client: Pick<ApiClient, 'request'>;
  readonly record: (event: RecordedEvent) => void;
  readonly onChange: () => void;
  readonly log: Logger;
}): RecordContests {
  const { client, record, onChange, log } = options;
  const writes = createAttempts();
  /** By the name of the node. */
  const contests = new Map<string, Contest>();
  const keyOf = ({ uid }: Entry<ClusterNode>, { remembered = '', removed = '' }: DesiredNode) =>
    `${uid} ${remembered} ${removed}`;
  const writesOf = (key: string) => writes.within(key, FIGHT.windowMs, performance.now());

  function close(name: string): void {
    if (contests.delete(name)) onChange();
  }

  return {
    wrote(node, desired) {
      if (desired.taints === node.value.taints) writes.record(keyOf(node, desired), performance.now());
    },
    isContested: (node, desired) =>
      desired.taints === node.value.taints && writesOf(keyOf(node, desired)).length >= FIGHT.limit,
    async open(node, desired, policies) {
      const key = keyOf(node, desired);
      if (contests.get(node.name)?.key === key) return;
      const annotation = desired.removed === node.value.removed ? REMEMBERED_ANNOTATION : REMOVED_ANNOTATION;
      const path = ['metadata', 'annotations', annotation];
      const writer = await otherWriterOf(client, node.name, path, { withSubresources: true });
      const by = writer === undefined ? '' : `, last by ${writer}`;
      const concerned = policies.filter((policy) => readsRecords(policy) && policy.selectsNode(node.value.labels));
      const text = `${annotation} of node ${node.name}${by}`;
      contests.set(node.name, { key, text, policies: concerned.map(({ name }) => name) });
      onChange();
      const how = { type: 'Warning', reason: 'RecordContested', action: 'LeaveRecord' } as const;
      const note = `pauses correcting annotation ${annotation}: it is changed each time${by}`;
      log.warn(`Node ${node.name}: ${note}`);
      record({ regarding: { apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid }, ...how, note });
      for (const { name } of concerned) {
        const policy = { apiVersion: POLICY_API_VERSION, kind: 'TaintPolicy', name };
        record({ regarding: policy, ...how, note: `Node ${node.name}: ${note}` });
      }
    },
    nextLookMs({ name }) {
      const contest = contests.get(name);
      if (!contest) return undefined;
      const [first] = writesOf(contest.key);
      if (first !== undefined) return Math.max(1, first + FIGHT.windowMs - performance.now());
      close(name);
      return undefined;
    },
    gone: close,
    forget: () => writes.forget(FIGHT.windowMs, performance.now()),
    troubles: () =>
      troublesOf(
        [...contests.values()],
        'RecordContested',
        (texts) => `not corrected for now, because another writer changes it each time: ${texts.join('; ')}`,
      ),
  };
}
