import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, it } from 'vitest';
import { makeClusterAdmin } from '../control-plane/cluster-admin.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer, serviceAccount, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { seed } from '../seed.ts';
import {
  createNodes,
  createTaintPolicy,
  forEachNode,
  patchNode,
  waitForAnnotation,
  waitForTaints,
  waitUntilRestored,
} from './drift.ts';
import { type Installation, install, LEASE, leaderOf } from './installation.ts';
import { GPU, RELEASE } from './nodes.ts';

/** Many more are tried every night. */
const KILLS = Number(process.env.TAINTKEEPER_KILLS ?? 8);
/** A leader is killed before it has seen the writes, meanwhile, and afterwards. */
const MAX_DELAY_MS = 1_000;
const ROUND_TIMEOUT_MS = 60_000;

const OWN = { key: 'own.example.com/team', value: 'a', effect: 'NoSchedule' };
const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const OWN_TEXT = 'own.example.com/team=a:NoSchedule';
const owner = serviceAccount('kube-system', 'cluster-autoscaler');

/** The exempt owner removes their taints, and another user sets them again: each time the node is to stay as it was left. */
const CHANGED = ['changed-1', 'changed-2', 'changed-3', 'changed-4'];
/** A user whom the policy does not exempt removes their taints: they are to come back. */
const KEPT = ['kept-1', 'kept-2', 'kept-3', 'kept-4'];

interface Round {
  readonly delayMs: number;
  /** For each of the nodes, whether it is written in this round. */
  readonly writes: readonly boolean[];
}

const rounds: readonly Round[] = fc.sample(
  fc.record({
    delayMs: fc.integer({ min: 0, max: MAX_DELAY_MS }),
    writes: fc.array(fc.boolean(), { minLength: CHANGED.length, maxLength: CHANGED.length }),
  }),
  { numRuns: KILLS, seed: seed() },
);

describeWithControlPlane('a leader that is killed at a random moment', {}, (cp) => {
  let installation: Installation;
  const tainted = new Map(CHANGED.map((name) => [name, true]));
  let retried = 0;

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a', 'b']);
    await makeClusterAdmin(cp(), 'User', owner.name);
    const taints = [
      { ...GPU, ensure: 'Always' },
      { ...OWN, ensure: 'Always' },
    ];
    await createTaintPolicy(cp(), 'changed', { taints, exempt: { users: [owner.name] } });
    await createTaintPolicy(cp(), 'kept', { taints });
    await createNodes(cp(), CHANGED, 'changed', [GPU, OWN]);
    await createNodes(cp(), KEPT, 'kept', [GPU, OWN]);
    // The policies are in force in the API server.
    for (const name of ['changed-1', 'kept-1']) await waitUntilRestored(cp(), name, GPU.key);
  });
  afterAll(async () => {
    await installation?.stop();
    process.stderr.write(
      `${KILLS} leaders killed; ${retried} writes were refused: the mutating webhook did not answer\n`,
    );
  });

  /** Until the API server takes it: it may be asking the very replica that is killed. */
  async function write(user: User, name: string, taints: readonly object[]): Promise<void> {
    let last = '';
    await waitUntil(
      async () => {
        const { passed, error } = await patchNode(cp(), user, name, { spec: { taints } });
        if (!passed) retried++;
        last = error;
        return passed || undefined;
      },
      { timeoutMs: ROUND_TIMEOUT_MS, otherwise: () => `${name} cannot be written: ${last}` },
    );
  }

  const chosen = (names: readonly string[], { writes }: Round) => names.filter((_, index) => writes[index]);

  /** Both replicas answer: without the mutating webhook, an exempt user's removal writes no entry. */
  async function change(round: Round): Promise<void> {
    await forEachNode(chosen(CHANGED, round), async (name) => {
      const next = !tainted.get(name);
      await write(next ? developer : owner, name, next ? [GPU, OWN] : []);
      tainted.set(name, next);
    });
  }

  /** The other replica leads at once: the Lease of the one that is gone is deleted, which would last for 15 s. */
  async function killLeader(): Promise<string> {
    const leader = await leaderOf(cp());
    await installation.replica(leader).kill();
    installation.replicas.delete(leader);
    await cp().request(admin, 'DELETE', LEASE);
    await waitUntil(async () => (![leader, ''].includes(await leaderOf(cp())) ? true : undefined), {
      timeoutMs: ROUND_TIMEOUT_MS,
      otherwise: () => `no replica leads after ${leader}`,
    });
    return leader;
  }

  async function expectAllRight(): Promise<void> {
    await forEachNode([...CHANGED, ...KEPT], async (name) => {
      const isTainted = tainted.get(name) ?? true;
      await waitForTaints(cp(), name, ...(isTainted ? [GPU_TEXT, OWN_TEXT] : []));
      await waitForAnnotation(cp(), name, RELEASE, isTainted ? undefined : `${GPU_TEXT}, ${OWN_TEXT}`);
      await waitForTaints(cp(), name, ...(isTainted ? [GPU_TEXT, OWN_TEXT] : []));
    });
  }

  it(`leaves each node as its users left it, ${KILLS} times`, { timeout: KILLS * ROUND_TIMEOUT_MS }, async () => {
    for (const round of rounds) {
      await change(round);
      await delay(round.delayMs);
      const lost = forEachNode(chosen(KEPT, round), (name) => write(developer, name, []));
      const killed = await killLeader();
      await lost;
      await expectAllRight();
      await installation.start([killed]);
      await installation.proxy.waitForReady('a', 'b');
    }
  });
});
