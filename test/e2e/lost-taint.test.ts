import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { developer } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createNodes, createTaintPolicy, waitForTaints, waitUntilRestored } from './drift.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { type NodeVersion, type NodeVersions, watchNodeVersions } from './node-versions.ts';
import { GPU, kubectl, taintsOf } from './nodes.ts';
import { copyTaints, type StaleCopies, type StaleWrites, startStaleWriter } from './stale-writer.ts';

const NAMES = Array.from({ length: 50 }, (_, index) => `n${index}`);
/** So many nodes are tainted in each round of the writer: it writes each node both before and after it is tainted. */
const NODES_A_ROUND = 10;
const ROUND_TIMEOUT_MS = 30_000;
/** A new replica waits for as long as a Lease lasts, 15 s, before it takes over that of a leader that was killed. */
const TAKEOVER_TIMEOUT_MS = 30_000;
const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const TEAM_TEXT = 'own.example.com/team=red:NoSchedule';
const LATE_TEXT = 'own.example.com/late:NoSchedule';

/** Most of it is for the Lease of a leader that was killed, and for a busy machine. */
const TEST_TIMEOUT_MS = 120_000;

describeWithControlPlane(
  'a controller that writes taints from a stale copy again and again, as Kubernetes 1.20 did',
  {},
  (cp) => {
    let installation: Installation;
    let nodes: NodeVersions;
    /** From before anybody tainted the nodes. */
    let copies: StaleCopies;
    const figures: string[] = [];

    beforeAll(async () => {
      installation = await install(cp());
      await installation.start(['a', 'b']);
      nodes = await watchNodeVersions(cp());
      await createNodes(cp(), NAMES, 'pool');
      copies = await copyTaints(cp(), NAMES);
    });
    afterAll(async () => {
      await nodes?.stop();
      await installation?.stop();
      process.stderr.write(`${figures.join('\n')}\n`);
    });

    /** An admin taints one node after the other, all through the attack; `half` is done in the middle of it. */
    async function attack(taint: string, half: () => Promise<void>): Promise<StaleWrites> {
      const writer = startStaleWriter(cp(), copies);
      for (const [index, name] of NAMES.entries()) {
        await waitUntil(() => writer.rounds() > Math.floor(index / NODES_A_ROUND) || undefined, {
          timeoutMs: ROUND_TIMEOUT_MS,
          otherwise: () => `the writer has written every node ${writer.rounds()} times`,
        });
        const { error } = await kubectl(cp(), developer, ['taint', 'node', name, taint]);
        expect(error).toBe('');
        if (index === NAMES.length / 2) await half();
      }
      const writes = await writer.stop();
      await nodes.caughtUp();
      return writes;
    }

    const carries =
      (...taints: string[]) =>
      (version: NodeVersion) =>
        taints.every((taint) => version.taints.includes(taint));

    it('while taintkeeper is up takes no taint from any node at any time, and does its own work', {
      timeout: TEST_TIMEOUT_MS,
    }, async () => {
      await createTaintPolicy(cp(), 'pool', {
        taints: [{ ...GPU, ensure: 'Always' }, { key: 'own.example.com/team' }, { key: 'own.example.com/late' }],
      });
      // These are for the controller: they are older than the policy.
      for (const name of NAMES) await waitForTaints(cp(), name, GPU_TEXT);
      await installation.proxy.waitForReady('a', 'b');
      await waitUntilRestored(cp(), 'n0', GPU.key);
      const writes = await attack(TEAM_TEXT, async () => {
        const leader = await leaderOf(cp());
        expect(await installation.replica(leader).stop()).toBe(0);
        installation.replicas.delete(leader);
      });
      let versions = 0;
      for (const name of NAMES) {
        for (const taint of [GPU_TEXT, TEAM_TEXT]) {
          const all = nodes.of(name);
          const since = all.slice(all.findIndex(carries(taint)));
          expect(since.filter((version) => !carries(taint)(version))).toEqual([]);
          expect(since.length).toBeGreaterThan(1);
        }
        versions += nodes.of(name).length;
      }
      figures.push(
        `up: ${writes.count} stale writes, ${writes.patched} patched, ${versions} versions of nodes, none without its taints`,
      );
      expect(writes.wrong).toEqual([]);
      expect(writes.patched).toBe(writes.count);
    });

    it('while taintkeeper is down takes all, and the required taint is back soon after its start', {
      timeout: TEST_TIMEOUT_MS,
    }, async () => {
      for (const name of installation.replicas.keys()) await installation.replica(name).kill();
      installation.replicas.clear();
      const writes = await attack(LATE_TEXT, async () => {});
      expect(writes).toMatchObject({ wrong: [], patched: 0 });
      expect(nodes.count(carries(GPU_TEXT))).toBe(0);
      expect(nodes.count(carries(TEAM_TEXT))).toBe(0);

      const began = performance.now();
      await installation.start(['c']);
      const listening = performance.now();
      await waitUntil(async () => (await leaderOf(cp())) === 'c' || undefined, {
        timeoutMs: TAKEOVER_TIMEOUT_MS,
        otherwise: () => 'c does not lead',
      });
      await waitUntil(() => nodes.count(carries(GPU_TEXT)) === NAMES.length || undefined, {
        timeoutMs: 30_000,
        otherwise: () => `only ${nodes.count(carries(GPU_TEXT))} nodes have their taint back`,
      });
      const ms = (since: number) => Math.round(performance.now() - since);
      figures.push(
        `down: ${writes.count} stale writes; all required taints back ${ms(began)} ms after the start, ${ms(listening)} ms after it listens`,
      );
      // No policy requires the others, so nothing says that a node should have them.
      for (const name of NAMES) expect(await taintsOf(cp(), name)).toEqual([GPU_TEXT]);
    });
  },
);
