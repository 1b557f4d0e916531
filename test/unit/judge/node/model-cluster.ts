import type { NodeMemory } from '../../../../src/judge/node/node-memory.ts';
import { type NodeStep, nodeStep } from '../../../../src/judge/node/node-step.ts';
import type { DesiredNode, StoredNode } from '../../../../src/judge/node-view.ts';
import { unmet } from '../../../../src/judge/startup/blocker.ts';
import type { Requester } from '../../../../src/policy/compiled-taint-policy.ts';
import type { PolicySet } from '../../../../src/policy/policy-set.ts';
import { judgeNode } from '../request/judge-node.ts';
import { memoryAfterStep } from './memories.ts';

/**
 * A cluster as values: Nodes, admission and leaders, by the functions of src/judge alone. The same state can be given to several leaders, and time passes
 * only when a test says so. The clock of the API server and the monotonic clock of leaders are one, in milliseconds.
 */
export interface ModelCluster {
  readonly nodes: ReadonlyMap<string, StoredNode>;
  /** What admission knows. */
  readonly policies: PolicySet;
  readonly isWebhookUp: boolean;
  /** The nodes on which every DaemonSet is ready. */
  readonly ready: ReadonlySet<string>;
  readonly now: number;
  /** How many Nodes there have been: each has a uid of its own. */
  readonly registrations: number;
}

/** A leader: the policies that it knows, and its memory. */
export interface ModelLeader {
  readonly policies: PolicySet;
  readonly memories: ReadonlyMap<string, NodeMemory>;
  /** Until when a node is left alone, because admission refused or undid the last write. */
  readonly retryAt: ReadonlyMap<string, number>;
}

/** One write of a leader. */
export interface ModelWrite {
  readonly at: number;
  readonly before: StoredNode;
  readonly step: NodeStep;
  readonly sent: StoredNode;
  /** Undefined if admission refused it. */
  readonly stored: StoredNode | undefined;
  readonly cluster: ModelCluster;
}

/** What the Node becomes, apart from its name and uid. */
export type NodeChange = Partial<Pick<StoredNode, 'labels' | 'taints' | 'allowRemoval'>>;

export const LEADER: Requester = {
  username: 'system:serviceaccount:taintkeeper:taintkeeper',
  groups: ['system:serviceaccounts'],
};

/** More writes of one node at one moment are an endless loop. */
const MAX_WRITES_AT_ONCE = 20;
/** The leader waits after a failed write. One time stands for all steps of the back-off. */
const RETRY_MS = 60_000;

export const newLeader = (policies: PolicySet): ModelLeader => ({ policies, memories: new Map(), retryAt: new Map() });

export function newCluster(policies: PolicySet): ModelCluster {
  return { nodes: new Map(), policies, isWebhookUp: true, ready: new Set(), now: 0, registrations: 0 };
}

/** What the API server stores of a request that creates a Node. */
export function register(
  cluster: ModelCluster,
  requester: Requester,
  name: string,
  change: NodeChange & Pick<StoredNode, 'bootId' | 'ready'>,
): ModelCluster {
  const { policies, isWebhookUp, now, registrations } = cluster;
  const node: StoredNode = {
    ...{ name, uid: `uid-${registrations}`, labels: {}, taints: [], allowRemoval: undefined, createdAt: now },
    ...change,
  };
  const decision = isWebhookUp ? judgeNode({ phase: 'mutate', requester, node }, policies) : undefined;
  const stored = decision?.action === 'patch' ? withDesired(node, decision.desired) : node;
  return { ...withNode(cluster, stored), registrations: registrations + 1 };
}

/** What the API server stores of a request that updates a Node. Undefined if it refuses the request. */
export function update(
  { policies, isWebhookUp }: Pick<ModelCluster, 'policies' | 'isWebhookUp'>,
  requester: Requester,
  oldNode: StoredNode,
  change: NodeChange | DesiredNode,
): StoredNode | undefined {
  const asked = withDesired(oldNode, change);
  const mutation = isWebhookUp ? judgeNode({ phase: 'mutate', requester, oldNode, node: asked }, policies) : undefined;
  const node = mutation?.action === 'patch' ? withDesired(asked, mutation.desired) : asked;
  // Without an answer, the webhooks of policies that fail closed refuse what those policies protect. Mutation fails open.
  const judging = isWebhookUp
    ? policies
    : { ...policies, taintPolicies: policies.taintPolicies.filter(({ failurePolicy }) => failurePolicy === 'Fail') };
  return judgeNode({ phase: 'validate', requester, oldNode, node }, judging).action === 'deny' ? undefined : node;
}

/** The Node after a client has changed these fields. */
export function withDesired(node: StoredNode, change: NodeChange | DesiredNode): StoredNode {
  const { startupBoot, ...rest } = { startupBoot: node.startupBoot, ...change };
  const { startupBoot: _, ...others } = node;
  return { ...others, ...rest, ...(startupBoot ? { startupBoot } : {}) };
}

export function withNode(cluster: ModelCluster, node: StoredNode): ModelCluster {
  return { ...cluster, nodes: new Map(cluster.nodes).set(node.name, node) };
}

/** What the API server stores when the kubelet of a Node reports a boot. No policy judges it. */
export function reboot(cluster: ModelCluster, node: StoredNode, bootId: string): ModelCluster {
  return withNode(cluster, { ...node, bootId, ready: true });
}

export function withoutNode(cluster: ModelCluster, name: string): ModelCluster {
  return { ...cluster, nodes: new Map([...cluster.nodes].filter(([one]) => one !== name)) };
}

interface Led {
  readonly cluster: ModelCluster;
  readonly leader: ModelLeader;
  readonly writes: readonly ModelWrite[];
  /** In how many milliseconds the leader has something to do without an event: Infinity for never. There are no sweeps. */
  readonly nextInMs: number;
}

/**
 * What a leader does at this moment: it writes each node until the node needs nothing more, as the watch shows each write.
 * @param maxWrites of each node, if something else happens before the next one
 */
export function lead(cluster: ModelCluster, leader: ModelLeader, maxWrites = Number.POSITIVE_INFINITY): Led {
  // A node that is deleted is forgotten.
  const memories = new Map([...leader.memories].filter(([name]) => cluster.nodes.has(name)));
  const retryAt = new Map(leader.retryAt);
  const writes: ModelWrite[] = [];
  let after = cluster;
  let nextInMs = Infinity;
  const { now, ready } = cluster;
  const wait = (ms: number) => {
    nextInMs = Math.min(nextInMs, ms);
  };

  for (const name of cluster.nodes.keys()) {
    for (let number = 0; number < maxWrites; number++) {
      const before = after.nodes.get(name) as StoredNode;
      const step = stepOf(before, memories.get(name), leader.policies, { now, isReady: ready.has(name) });
      memories.set(name, step.memoryIfUnwritten);
      const pausedFor = (retryAt.get(name) ?? 0) - now;
      if (step.desired === undefined || pausedFor > 0) {
        if (step.desired !== undefined) wait(pausedFor);
        if (step.nextInMs !== undefined) wait(step.nextInMs);
        break;
      }
      if (number === MAX_WRITES_AT_ONCE) throw new Error(`endless loop: ${JSON.stringify([before, step.desired])}`);
      const sent = withDesired(before, step.desired);
      const stored = update(after, LEADER, before, step.desired);
      writes.push({ at: now, before, step, sent, stored, cluster: after });
      if (stored === undefined || isUndone(stored, step.desired)) retryAt.set(name, now + RETRY_MS);
      if (stored === undefined) continue;
      memories.set(name, memoryAfterStep(step, now, { bootId: before.bootId, taints: [] }));
      after = withNode(after, stored);
    }
  }
  return { cluster: after, leader: { ...leader, memories, retryAt }, writes, nextInMs };
}

function stepOf(
  node: StoredNode,
  memory: NodeMemory | undefined,
  { taintPolicies }: PolicySet,
  { now, isReady }: { readonly now: number; readonly isReady: boolean },
): NodeStep {
  return nodeStep(node, memory, {
    policies: taintPolicies,
    blockers: () => (isReady ? [] : [unmet('its pod is not Ready')]),
    isComplete: true,
    now,
    apiTime: now,
  });
}

/** Whether a mutating webhook has changed the taints of a write. */
function isUndone(stored: StoredNode, { taints }: DesiredNode): boolean {
  return JSON.stringify(stored.taints) !== JSON.stringify(taints);
}

/** Another program that keeps nodes as it wants them: it writes as soon as a node differs. */
export interface OtherWriter {
  readonly requester: Requester;
  /** Undefined where it is content with the node. */
  readonly change: (node: StoredNode) => NodeChange | undefined;
}

/**
 * Time passes, and the leaders and the other writer do what they have to do meanwhile, each at its moment. Without a leader, nothing happens.
 * @throws Error if they write more often at one moment than {@link MAX_WRITES_AT_ONCE}: an endless loop
 */
export function elapse(
  cluster: ModelCluster,
  leaders: readonly ModelLeader[],
  ms: number,
  other?: OtherWriter,
): {
  readonly cluster: ModelCluster;
  readonly leaders: readonly ModelLeader[];
  readonly writes: readonly ModelWrite[];
} {
  const until = cluster.now + ms;
  const writes: ModelWrite[] = [];
  let state = cluster;
  let leading = leaders;
  for (;;) {
    let isQuiet = false;
    let nextInMs = Infinity;
    // A write of one is an event for the others.
    for (let round = 0; !isQuiet; round++) {
      if (round === MAX_WRITES_AT_ONCE) throw new Error(`endless loop: ${JSON.stringify([...state.nodes.values()])}`);
      isQuiet = true;
      nextInMs = Infinity;
      leading = leading.map((leader) => {
        const led = lead(state, leader);
        state = led.cluster;
        writes.push(...led.writes);
        if (led.writes.length > 0) isQuiet = false;
        nextInMs = Math.min(nextInMs, led.nextInMs);
        return led.leader;
      });
      for (const node of other ? state.nodes.values() : []) {
        const change = other?.change(node);
        const stored = other && change && update(state, other.requester, node, change);
        if (!stored) continue;
        state = withNode(state, stored);
        // Admission may leave nothing of the change.
        if (JSON.stringify(stored) !== JSON.stringify(node)) isQuiet = false;
      }
    }
    if (state.now >= until) return { cluster: state, leaders: leading, writes };
    state = { ...state, now: Math.min(until, state.now + nextInMs) };
  }
}
