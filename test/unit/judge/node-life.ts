import { isDeepStrictEqual } from 'node:util';
import { historyAfter, type NodeHistory, newHistory, type WatchedNode } from '../../../src/judge/node-history.ts';
import { type NodeRecord, withRecord } from '../../../src/judge/node-record.ts';
import { type NodeStep, nodeStep } from '../../../src/judge/node-step.ts';
import type { NodeView } from '../../../src/judge/node-view.ts';
import { removedTaints, type Taint } from '../../../src/kubernetes/taint.ts';
import type { PolicySet, Requester } from '../../../src/policy/policy-set.ts';
import { ESTABLISHED_AFTER_SECONDS } from '../../../src/policy/taint-policy.ts';
import { judgeNode } from './judge-node.ts';
import { nodeOf } from './node-drifts.ts';
import { DEVELOPER } from './node-updates.ts';

const UID = 'u1';
const MACHINE = { systemUUID: '', providerID: '' };
const LEADER: Requester = { username: 'system:serviceaccount:taintkeeper:taintkeeper', groups: [] };

type Change = Partial<Pick<NodeView, 'taints' | 'allowRemoval'>>;

/** One Node with its record, the replicas that judge updates of it, and the leader: each does its next step when it is told to. */
export interface NodeLife {
  readonly node: NodeView;
  /** As the leader has computed it. */
  readonly record: NodeRecord | undefined;
  /** What replicas know. */
  readonly seen: NodeRecord | undefined;
  readonly isLed: boolean;
  /** An update that passes the webhook, or does not: then, nothing changes. */
  update(change: Change, requester?: Requester): boolean;
  /** An update of which the webhook is not asked. */
  bypass(change: Change): void;
  /** Ten minutes pass. */
  establish(): void;
  /** The leader compares the node with the policies: the taints that it adds, or undefined if it writes nothing. */
  repair(): Taint[] | undefined;
  /** The leader writes the record: whether it was to be written. */
  write(): boolean;
  /** Replicas see the record. */
  spread(): void;
  stopLeader(): void;
  /** A new leader knows what was written, and no more. */
  startLeader(): void;
}

export function nodeLife(policies: PolicySet, taints: readonly Taint[] = []): NodeLife {
  const { taintPolicies } = policies;
  let node = nodeOf(taints);
  /** Of the leader, if there is one. */
  let history: NodeHistory | undefined;
  let time = 0;
  let record: NodeRecord | undefined;
  let stored: NodeRecord | undefined;
  let seen: NodeRecord | undefined;
  startLeader();

  return {
    get node() {
      return node;
    },
    get record() {
      return record;
    },
    get seen() {
      return seen;
    },
    get isLed() {
      return history !== undefined;
    },
    update,
    bypass: (change) => put({ ...node, ...change }),
    establish() {
      time += 1_000 * ESTABLISHED_AFTER_SECONDS;
      check();
    },
    repair() {
      const desired = check()?.desired;
      if (!desired) return undefined;
      const before = node;
      update(desired, LEADER);
      // Where replicas have not seen the record, a taint that it lists may count as an addition. The leader tries again.
      if (isSpread() && !isDeepStrictEqual({ ...before, ...desired }, node)) {
        throw new Error(`the webhook changed a repair: ${JSON.stringify({ before, desired, node })}`);
      }
      return removedTaints(node.taints, before.taints);
    },
    write() {
      if (!history || isWritten()) return false;
      stored = record;
      return true;
    },
    spread() {
      seen = stored;
    },
    stopLeader() {
      history = undefined;
    },
    startLeader,
  };

  function startLeader(): void {
    history = newHistory(watched(), time);
    record = stored;
    check();
  }

  function watched(): WatchedNode {
    return { ...node, uid: UID, ready: true };
  }

  function isWritten(): boolean {
    return isDeepStrictEqual(record, stored);
  }

  function isSpread(): boolean {
    return isWritten() && isDeepStrictEqual(seen, stored);
  }

  function update(change: Change, requester: Requester = DEVELOPER): boolean {
    const oldNode = withRecord(node, seen, UID);
    const request = { requester, oldNode, node: { ...node, ...change } } as const;
    const mutation = judgeNode({ ...request, phase: 'mutate' }, policies);
    const mutated = mutation.action === 'patch' ? { ...request.node, ...mutation.desired } : request.node;
    if (judgeNode({ ...request, phase: 'validate', node: mutated }, policies).action === 'deny') return false;
    put(mutated);
    return true;
  }

  function put(next: NodeView): void {
    const previous = node;
    node = next;
    if (!history) return;
    history = historyAfter(history, { node: watched(), previous, isListed: false }, taintPolicies, time);
    check();
  }

  /** What the leader does at every event, and when it repairs the node. */
  function check(): NodeStep | undefined {
    if (!history) return undefined;
    const step = nodeStep(
      { ...watched(), machine: MACHINE },
      history,
      { record },
      {
        policies: taintPolicies,
        now: 0,
        monotonicMs: time,
        policiesUnchangedMs: Infinity,
        otherWriterOf: () => undefined,
        refusal: undefined,
        isSpread: (given) => isDeepStrictEqual(given, stored) && isDeepStrictEqual(seen, stored),
      },
    );
    ({ record } = step);
    history = { ...step.history, accepted: step.accepted };
    return step;
  }
}

/** Lets the leader do whatever it has to do: how many writes that took. */
export function settle(life: NodeLife, repaired: (added: readonly Taint[]) => void = () => {}): number {
  for (let writes = 0; writes < 20; ) {
    const wasWritten = life.write();
    life.spread();
    const added = life.repair();
    if (added) repaired(added);
    if (!wasWritten && !added) return writes;
    writes += Number(wasWritten) + Number(added !== undefined);
  }
  throw new Error(`the leader has not finished after 20 writes: ${JSON.stringify(life.node)}`);
}
