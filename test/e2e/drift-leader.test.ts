import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createNodes, createTaintPolicy, patchNode, REMEMBERED, repairsOf } from './drift.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { type NodeVersion, type NodeVersions, watchNodeVersions } from './node-versions.ts';
import { GPU, OTHER, type Taint } from './nodes.ts';

const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const OWN: Taint = { key: 'own.example.com/kept', effect: 'NoSchedule' };
const OWN_TEXT = 'own.example.com/kept:NoSchedule';
const OTHER_TEXT = 'example.com/other:NoSchedule';
/** A leader puts the first hundred right in no time, and then a hundred a second: there is a middle. */
const NAMES = Array.from({ length: 500 }, (_, index) => `n${index}`);
/** In the middle: so many nodes have their taints back. */
const MIDDLE = 20;
const DONE_TIMEOUT_MS = 50_000;

describeWithControlPlane('a change of the leader while 500 nodes are put right', {}, (cp) => {
  let installation: Installation;
  let nodes: NodeVersions;
  const figures: string[] = [];

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
    await createTaintPolicy(cp(), 'many', { taints: [{ ...GPU, ensure: 'Present' }, { key: OWN.key }] });
    nodes = await watchNodeVersions(cp());
    await createNodes(cp(), NAMES, 'many', [GPU, OWN]);
    await waitForAll(({ annotations }) => annotations[REMEMBERED] === `${GPU_TEXT}, ${OWN_TEXT}`);
    await stopAll();
  });
  afterAll(async () => {
    nodes?.stop();
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
    await Promise.all(NAMES.map((name) => patchNode(cp(), admin, name, { spec: { taints: [OTHER] } })));
    await nodes.caughtUp();
    expect(nodes.count(isRight)).toBe(0);
    await installation.start(replicas);
    await waitForAll(isRight, MIDDLE);
    const leader = await leaderOf(cp());
    // Somebody else goes on writing the same nodes.
    const labelled = Promise.all(
      NAMES.map((name) => patchNode(cp(), developer, name, { metadata: { labels: { [label]: name } } })),
    );
    return { leader, labelled };
  }

  /** Each node has its taints and its new label, and was written once. */
  async function expectAllRight(label: string, written: readonly string[]) {
    await nodes.caughtUp();
    for (const name of NAMES) {
      const last = nodes.of(name).at(-1);
      expect(last?.taints.toSorted()).toEqual([GPU_TEXT, OTHER_TEXT, OWN_TEXT].toSorted());
      expect(last?.labels).toEqual({ ...last?.labels, pool: 'many', [label]: name });
    }
    expect(written.toSorted()).toEqual(NAMES.toSorted());
  }

  it('that is killed: the next one does the rest, and no node is written twice', async () => {
    const { leader, labelled } = await wipe(['b', 'c'], 'killed');
    await installation.replica(leader).kill();
    installation.replicas.delete(leader);
    const killedAt = performance.now();
    const before = repairsOf(cp()).passed.length;
    await waitForAll(isRight);
    const { passed, conflicts } = repairsOf(cp());
    const seconds = ((performance.now() - killedAt) / 1000).toFixed(1);
    figures.push(`killed: ${before} done by the first, all ${seconds} s later, ${conflicts.length} conflicts`);
    expect(before).toBeLessThan(NAMES.length);
    await labelled;
    await expectAllRight('killed', passed);
    await stopAll();
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
    await expectAllRight('paused', repairsOf(cp()).passed.slice(before));
  });
});
