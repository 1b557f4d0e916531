import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createNodes, createTaintPolicy, forEachNode, patchNode, repairsOf } from './drift.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { type NodeVersion, type NodeVersions, watchNodeVersions } from './node-versions.ts';
import { type Attempt, GPU, OTHER, type Taint } from './nodes.ts';

const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const OWN: Taint = { key: 'own.example.com/kept', effect: 'PreferNoSchedule' };
const OWN_TEXT = 'own.example.com/kept:PreferNoSchedule';
const OTHER_TEXT = 'example.com/other:NoSchedule';
/** A leader puts the first hundred right in no time, and then a hundred a second: there is a middle. */
const NAMES = Array.from({ length: 500 }, (_, index) => `n${index}`);
/** In the middle: so many nodes have their taints back. */
const MIDDLE = 20;
const DONE_TIMEOUT_MS = 50_000;

describeWithControlPlane('a change of the leader while 500 nodes are repaired', {}, (cp) => {
  let installation: Installation;
  let nodes: NodeVersions;
  const figures: string[] = [];

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
    await createTaintPolicy(cp(), 'many', {
      taints: [
        { ...GPU, ensure: 'Always' },
        { ...OWN, ensure: 'Always' },
      ],
    });
    nodes = await watchNodeVersions(cp());
    await createNodes(cp(), NAMES, 'many', [GPU, OWN]);
  });
  afterAll(async () => {
    await nodes?.stop();
    await installation?.stop();
    process.stderr.write(`${figures.join('\n')}\n`);
  });

  async function stopAll() {
    const ended = [...installation.replicas.keys()];
    await Promise.all(ended.map((name) => installation.replica(name).stop()));
    for (const name of ended) installation.replicas.delete(name);
  }

  function waitForAll(isSo: (version: NodeVersion) => boolean, count = NAMES.length): Promise<boolean> {
    return waitUntil(() => nodes.count(isSo) >= count || undefined, {
      timeoutMs: DONE_TIMEOUT_MS,
      otherwise: () => `only ${nodes.count(isSo)} nodes of ${count} are as they should be`,
    });
  }

  const isRight = ({ taints }: NodeVersion) => taints.includes(GPU_TEXT) && taints.includes(OWN_TEXT);

  /** Has the nodes lose their taints while nobody watches, and replicas put them back; ends in the middle of that. */
  async function wipe(replicas: readonly string[], label: string) {
    await stopAll();
    await forEachNode(NAMES, async (name) => {
      expect(await patchNode(cp(), admin, name, { spec: { taints: [OTHER] } })).toMatchObject({ passed: true });
    });
    await nodes.caughtUp();
    expect(nodes.count(isRight)).toBe(0);
    await installation.start(replicas);
    await waitForAll(isRight, MIDDLE);
    const leader = await leaderOf(cp());
    // Somebody else goes on writing the same nodes.
    const labelled = forEachNode(NAMES, (name) => labelNode(name, label));
    return { leader, labelled };
  }

  /** The API server may be asking the very replica that ends: the writer tries again, as all do. */
  async function labelNode(name: string, label: string): Promise<void> {
    let last: Attempt | undefined;
    await waitUntil(
      async () => {
        last = await patchNode(cp(), developer, name, { metadata: { labels: { [label]: name } } });
        return last.passed || undefined;
      },
      { timeoutMs: DONE_TIMEOUT_MS, otherwise: () => `${name} is not labelled: ${last?.error}` },
    );
  }

  /**
   * Each node has its taints and its new label, and has got the taints back once in each of the `rounds`. A write of the one
   * that is killed may be done though nobody has heard the answer: not all are among those of which the audit log says so.
   */
  async function expectAllRight(label: string, rounds: number) {
    await nodes.caughtUp();
    for (const name of NAMES) {
      const versions = nodes.of(name);
      const last = versions.at(-1);
      expect(last?.taints.toSorted()).toEqual([GPU_TEXT, OTHER_TEXT, OWN_TEXT].toSorted());
      expect(last?.labels).toEqual({ ...last?.labels, pool: 'many', [label]: name });
      const repairs = versions.filter(
        (version, index) => index > 0 && isRight(version) && !versions.slice(index - 1, index).every(isRight),
      );
      expect(repairs, name).toHaveLength(rounds);
    }
  }

  function expectNoneTwice(written: readonly string[]) {
    expect(written.length).toBeGreaterThan(0);
    expect(written.toSorted()).toEqual([...new Set(written)].toSorted());
  }

  it('that is killed: the next one does the rest, and no node is written twice', async () => {
    const { leader, labelled } = await wipe(['b', 'c'], 'killed');
    await installation.replica(leader).kill();
    installation.replicas.delete(leader);
    const killedAt = performance.now();
    const before = repairsOf(cp()).passed.length;
    await waitForAll(isRight);
    const { conflicts } = repairsOf(cp());
    const seconds = ((performance.now() - killedAt) / 1000).toFixed(1);
    figures.push(`killed: ${before} done by the first, all ${seconds} s later, ${conflicts.length} conflicts`);
    expect(before).toBeLessThan(NAMES.length);
    await labelled;
    await expectAllRight('killed', 1);
    expectNoneTwice(repairsOf(cp()).passed);
  });

  it('that is paused for two leases: the next one does the rest, and it does nothing when it goes on', async () => {
    const before = repairsOf(cp()).passed.length;
    const { leader: paused, labelled } = await wipe(['d', 'e'], 'paused');
    const replica = installation.replica(paused);
    installation.proxy.remove(paused);
    replica.pause();
    const pausedAt = performance.now();
    const middle = repairsOf(cp()).passed.length - before;
    await waitForAll(isRight);
    const seconds = ((performance.now() - pausedAt) / 1000).toFixed(1);
    figures.push(`paused: ${middle} done by the first, all ${seconds} s later`);
    expect(middle).toBeLessThan(NAMES.length);
    expect(await leaderOf(cp())).not.toBe(paused);
    replica.resume();
    await replica.waitForLog(({ msg }) => msg.startsWith('no longer the leader'));
    await labelled;
    await expectAllRight('paused', 2);
    expectNoneTwice(repairsOf(cp()).passed.slice(before));
  });
});
