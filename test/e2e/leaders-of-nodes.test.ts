import { afterEach, expect, it, vi } from 'vitest';
import { ALLOW_REMOVAL_ANNOTATION, ALLOW_REMOVAL_LIFE_MS } from '../../src/judge/allow-removal.ts';
import { UNDO_BUDGET } from '../../src/judge/node/undone-changes.ts';
import type { Taint } from '../../src/kubernetes/taint.ts';
import type { TaintPolicySpec } from '../../src/policy/taint-policy.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createNodes, patchNode, waitForAnnotation, waitForTaints } from './drift.ts';
import { path, taintsOf } from './nodes.ts';
import { policyObject } from './policy-objects.ts';
import { type LeaderOfNodes, startLeaderOfNodes } from './start-node-repair.ts';

const TIMEOUT_MS = 20_000;
const GPU = 'dedicated=gpu:NoSchedule';
const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const ALWAYS = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' } as const;
const READY = { conditions: [{ type: 'example.com/Ready' }] };
const UNTIL_READY = { ...ALWAYS, ensure: 'UntilReady', readyWhen: READY } as const;

const user = (name: string): User => ({ name, groups: ['system:masters'] });
const policy = (...taints: TaintPolicySpec['taints']) => [
  policyObject('TaintPolicy', 'p', { mode: 'Restore', taints }),
];

describeWithControlPlane('a leader of nodes, while the webhook is down', {}, (cp) => {
  const running: LeaderOfNodes[] = [];
  afterEach(async () => {
    vi.restoreAllMocks();
    await Promise.all(running.splice(0).map((leader) => leader.stop()));
    await cp().request(admin, 'DELETE', '/api/v1/nodes');
  });

  async function start(name: string, policies: readonly ReturnType<typeof policyObject>[]): Promise<LeaderOfNodes> {
    const leader = await startLeaderOfNodes(cp(), user(name), policies);
    running.push(leader);
    return leader;
  }

  /** The accepted writes of the node by the user. */
  const writes = (name: string, by: string) =>
    cp()
      .auditLog()
      .filter(
        ({ user: { username }, objectRef, responseStatus }) =>
          username === by && objectRef?.resource === 'nodes' && objectRef.name === name && responseStatus?.code === 200,
      ).length;

  it('deletes the entry of a taint that a user has set, an hour later, and keeps the taint', async () => {
    const clock = holdLongPauses();
    await createNodes(cp(), ['n1'], 'gpu', []);
    await patchNode(cp(), admin, 'n1', { metadata: { annotations: { [ALLOW_REMOVAL_ANNOTATION]: GPU } } });
    const leader = await start('leader-hour', policy(ALWAYS));
    const before = new Set(clock.pauses());
    await patchNode(cp(), admin, 'n1', { spec: { taints: [gpu] } });
    // Its worker may take the step again some milliseconds later.
    const isOfEntry = ({ ms }: Pause) => ms <= ALLOW_REMOVAL_LIFE_MS && ms > ALLOW_REMOVAL_LIFE_MS - TIMEOUT_MS;
    await waitUntil(() => clock.pauses().find((one) => !before.has(one) && isOfEntry(one)), {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => `it waits for ${clock.pauses().map(({ ms }) => ms)} ms`,
    });

    // A change of the node makes the leader judge it again. Another node shows when it has.
    const early = ALLOW_REMOVAL_LIFE_MS / 4;
    clock.advance(early);
    await patchNode(cp(), admin, 'n1', { metadata: { labels: { rack: '7' } } });
    await createNodes(cp(), ['seen-later'], 'gpu', []);
    await waitForTaints(cp(), 'seen-later', GPU);
    expect(writes('n1', 'leader-hour')).toBe(0);

    clock.advance(ALLOW_REMOVAL_LIFE_MS - early);
    clock.endPauses();
    await waitForAnnotation(cp(), 'n1', ALLOW_REMOVAL_ANNOTATION, undefined);
    expect(await taintsOf(cp(), 'n1')).toEqual([GPU]);
    await expect.poll(() => leader.events(), { timeout: TIMEOUT_MS }).toContain('n1 RemovalAnnotationExpired');
    await expect.poll(() => writes('n1', 'leader-hour')).toBe(1);
  });

  it.each<{
    why: string;
    one: TaintPolicySpec['taints'];
    other: TaintPolicySpec['taints'];
    /** The most that each of them writes. */
    most: number;
    isConflict: boolean;
    /** What `one` declares. */
    taints: readonly string[];
  }>([
    {
      why: 'that require two values',
      one: [ALWAYS],
      other: [{ ...ALWAYS, value: 'cpu' }],
      most: UNDO_BUDGET.limit,
      isConflict: true,
      taints: [GPU],
    },
    {
      why: 'of which one sets a taint that the other removes',
      one: [ALWAYS],
      other: [UNTIL_READY],
      most: UNDO_BUDGET.limit,
      isConflict: true,
      taints: [GPU],
    },
    {
      why: 'that require two taints',
      one: [ALWAYS, { ...ALWAYS, key: 'b' }],
      other: [ALWAYS, { ...ALWAYS, key: 'c' }],
      most: 2,
      isConflict: false,
      taints: [GPU, 'b=gpu:NoSchedule', 'c=gpu:NoSchedule'],
    },
    {
      why: 'of which one requires nothing',
      one: [ALWAYS],
      other: [{ key: 'dedicated' }],
      most: 1,
      isConflict: false,
      taints: [GPU],
    },
  ])('converges with another leader with other policies, $why', async ({ one, other, most, isConflict, taints }) => {
    const [name, first, second, third] = ['n1', 'one', 'other', 'last'].map(
      (text) => `${text}-${crypto.randomUUID().slice(0, 8)}`,
    ) as [string, string, string, string];
    await createNodes(cp(), [name], 'gpu', []);
    const status = { conditions: [{ type: 'example.com/Ready', status: 'True' }] };
    expect(
      (
        await cp().request(admin, 'PATCH', `${path(name)}/status`, {
          body: { status },
          contentType: MERGE_PATCH,
        })
      ).status,
    ).toBe(200);
    const leaders = await Promise.all([start(first, policy(...one)), start(second, policy(...other))]);
    const isPaused = () => leaders.some(({ isInConflict }) => isInConflict(name, gpu));
    const isDone = async () => {
      const found = await taintsOf(cp(), name);
      return isConflict ? isPaused() : taints.every((taint) => found.includes(taint));
    };
    await waitUntil(async () => (await isDone()) || undefined, {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => `they go on writing: ${[first, second].map((by) => writes(name, by))}`,
    });
    const quiet = await untilQuiet(() => writes(name, first) + writes(name, second));
    expect(Math.max(writes(name, first), writes(name, second))).toBeLessThanOrEqual(most);
    const events = leaders.flatMap((leader) => leader.events());
    expect(events.includes(`${name} TaintConflict`)).toBe(isConflict);

    // The policies of the other one are current again, and a leader without a memory follows.
    leaders[1]?.setPolicies(policy(...one));
    await leaders[0]?.stop();
    running.splice(running.indexOf(leaders[0] as LeaderOfNodes), 1);
    await start(third, policy(...one));
    await waitForTaints(cp(), name, ...taints);
    const after = await untilQuiet(() => [first, second, third].reduce((sum, by) => sum + writes(name, by), 0));
    expect(after - quiet).toBeLessThanOrEqual(1);
  });
});

/** Two seconds without a change of the count. */
async function untilQuiet(count: () => number): Promise<number> {
  let last = count();
  let since = performance.now();
  return waitUntil(
    () => {
      const now = count();
      if (now !== last) [last, since] = [now, performance.now()];
      return performance.now() - since > 2_000 ? last : undefined;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => `${last} and more` },
  );
}

interface Pause {
  readonly work: () => void;
  readonly ms: number;
}

/** Pauses of half an hour and more end only when the test says so, and the monotonic clock is advanced by it. All else takes its time. */
function holdLongPauses() {
  const LONG_MS = 1_800_000;
  const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  const held = new Map<unknown, Pause>();
  vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((
    work: (...args: unknown[]) => void,
    ms = 0,
    ...args: unknown[]
  ) => {
    if (ms < LONG_MS) return real.setTimeout(() => work(...args), ms);
    const timer = real.setTimeout(() => {}, ms);
    held.set(timer, { work, ms });
    return timer;
  }) as typeof setTimeout);
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    held.delete(timer);
    real.clearTimeout(timer);
  });
  return {
    pauses: () => [...held.values()],
    advance(ms: number) {
      aheadMs += ms;
    },
    endPauses() {
      for (const [timer, { work }] of [...held]) {
        real.clearTimeout(timer as NodeJS.Timeout);
        held.delete(timer);
        work();
      }
    },
  };
}
