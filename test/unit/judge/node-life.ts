import { isDeepStrictEqual } from 'node:util';
import { trackRemovalSteps } from '../../../src/controllers/nodes/removal-steps.ts';
import { judgeNode } from '../../../src/judge/node.ts';
import { nodeDrift } from '../../../src/judge/node-drift.ts';
import { establishedIn, type NodeRecord, withRecord } from '../../../src/judge/node-record.ts';
import type { NodeView } from '../../../src/judge/node-view.ts';
import { recordOf } from '../../../src/judge/record-keeping.ts';
import { droppedTaints, formatTaint, type Taint } from '../../../src/kubernetes/taint.ts';
import type { PolicySet, Requester } from '../../../src/policy/policy-set.ts';
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
  /** Whatever the node carries has stayed for ten minutes. */
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
  let steps: ReturnType<typeof trackRemovalSteps> | undefined;
  let stayed = new Set<string>();
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
      return steps !== undefined;
    },
    update,
    bypass: (change) => put({ ...node, ...change }),
    establish() {
      stayed = new Set(node.taints.map(formatTaint));
      compute();
    },
    repair() {
      if (!steps) return undefined;
      const { desired } = nodeDrift({ ...node, recorded: record?.taints ?? [] }, taintPolicies, {
        isRecordWritten: isSpread(),
      });
      if (!desired) return undefined;
      const before = node;
      update(desired, LEADER);
      // Where replicas have not seen the record, a taint that it lists may count as an addition. The leader tries again.
      if (isSpread() && !isDeepStrictEqual({ ...before, ...desired }, node)) {
        throw new Error(`the webhook changed a repair: ${JSON.stringify({ before, desired, node })}`);
      }
      return droppedTaints(node.taints, before.taints);
    },
    write() {
      if (!steps || isWritten()) return false;
      stored = record;
      return true;
    },
    spread() {
      seen = stored;
    },
    stopLeader() {
      steps = undefined;
      stayed = new Set();
    },
    startLeader,
  };

  function startLeader(): void {
    steps = trackRemovalSteps(({ labels }, taint) =>
      taintPolicies.some(
        ({ mode, selectsNode, protectedBy }) =>
          mode !== 'Audit' && selectsNode(labels) && protectedBy(taint) !== undefined,
      ),
    );
    stayed = new Set();
    record = stored;
    compute();
  }

  function isWritten(): boolean {
    return isDeepStrictEqual(record, stored);
  }

  function isSpread(): boolean {
    return isWritten() && isDeepStrictEqual(seen, stored);
  }

  function update(change: Change, requester: Requester = DEVELOPER): boolean {
    const oldNode = withRecord(node, seen, UID);
    const request = { operation: 'UPDATE', requester, oldNode, node: { ...node, ...change } } as const;
    const mutation = judgeNode({ ...request, phase: 'mutate' }, policies);
    const mutated = mutation.verdict === 'patch' ? { ...request.node, ...mutation.desired } : request.node;
    if (judgeNode({ ...request, phase: 'validate', node: mutated }, policies).verdict === 'deny') return false;
    put(mutated);
    return true;
  }

  function put(next: NodeView): void {
    const before = node;
    node = next;
    const carried = new Set(node.taints.map(formatTaint));
    stayed = new Set([...stayed].filter((text) => carried.has(text)));
    steps?.notice({
      type: 'modified',
      entry: { name: node.name, uid: UID, value: node },
      previous: { name: node.name, uid: UID, value: before },
    } as never);
    compute();
  }

  function compute(): void {
    if (!steps) return;
    const removedInOneStep = (taint: Taint) => steps?.has(node.name, taint) ?? false;
    const isListed = record ? establishedIn(record) : () => false;
    const established = (taint: Taint) => stayed.has(formatTaint(taint)) || isListed(taint);
    record = recordOf(
      record,
      { ...node, uid: UID, machine: MACHINE, established, removedInOneStep },
      { policies: taintPolicies, now: 0, forgets: true, forgetsLost: true },
    );
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
  throw new Error(`the leader does not come to an end: ${JSON.stringify(life.node)}`);
}
