import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import {
  createNodes,
  createTaintPolicy,
  eventsAbout,
  metricOf,
  patchNode,
  repairsOf,
  waitForEvent,
  waitForStatus,
  waitForTaints,
} from './drift.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { GPU, OTHER, path, taintsOf } from './nodes.ts';

const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const OTHER_TEXT = 'example.com/other:NoSchedule';
const STALLED = 'taintkeeper_stalled{kind="TaintPolicy",policy="fought",reason="TaintConflict"}';
/** So often a taint is put back within ten minutes. */
const LIMIT = 3;
const RIVAL_LOOKS_EVERY_MS = 10;

describeWithControlPlane('a taint that another controller takes away as soon as it is there', {}, (cp) => {
  let installation: Installation;
  let otherWriter: { stop(): Promise<void> };

  beforeAll(async () => {
    installation = await install(cp());
    await startUnseen('a');
    // Beside another one: who empties a list leaves no trace in managedFields.
    await createNodes(cp(), ['n1'], 'fought', [OTHER]);
    otherWriter = startRival('n1');
    await createTaintPolicy(cp(), 'fought', { taints: [{ ...GPU, ensure: 'Always' }] });
    await waitForStatus(
      cp(),
      'fought',
      ({ conditions }) => conditions?.some(({ type }) => type === 'Stalled') ?? false,
    );
  });
  afterAll(async () => {
    await otherWriter?.stop();
    await installation?.stop();
  });

  /** It leads, and the API server cannot ask it: updates pass unseen, and only the leader restores. */
  async function startUnseen(name: string) {
    await installation.start([name]);
    installation.proxy.remove(name);
  }

  /** It removes the taint whenever it is there. */
  function startRival(name: string) {
    let stopped = false;
    const work = async () => {
      while (!stopped) {
        await delay(RIVAL_LOOKS_EVERY_MS);
        if ((await taintsOf(cp(), name)).includes(GPU_TEXT)) {
          const url = `${path(name)}?fieldManager=otherWriter-controller`;
          await cp().request(developer, 'PATCH', url, {
            body: { spec: { taints: [OTHER] } },
            contentType: MERGE_PATCH,
          });
        }
      }
    };
    const working = work();
    return {
      async stop() {
        stopped = true;
        await working;
      },
    };
  }

  const repairsOfNode = (name: string) => repairsOf(cp()).passed.filter((one) => one === name).length;

  /** Has the controller look at the node, many times, and then at another one, which gets its taint. */
  async function lookAgain(other: string) {
    for (let round = 0; round < 20; round++) {
      await patchNode(cp(), admin, 'n1', { metadata: { labels: { round: `${other}-${round}` } } });
    }
    await createNodes(cp(), [other], 'other');
    await patchNode(cp(), admin, other, { metadata: { labels: { pool: 'fought' } } });
    await waitForTaints(cp(), other, GPU_TEXT);
  }

  it('is restored three times and then left alone, while other nodes get theirs', async () => {
    await lookAgain('n2');
    await expect.poll(() => repairsOfNode('n1')).toBe(LIMIT);
    await expect.poll(() => repairsOfNode('n2')).toBe(1);
    expect(await taintsOf(cp(), 'n1')).toEqual([OTHER_TEXT]);
  });

  it('the policy says so, and names the node and the other side', async () => {
    const { conditions, violators } = await waitForStatus(cp(), 'fought', ({ violating }) => violating === 1);
    expect(violators).toEqual(['n1']);
    expect(conditions?.find(({ type }) => type === 'Stalled')).toMatchObject({
      status: 'True',
      reason: 'TaintConflict',
      message: expect.stringContaining(
        `taint ${GPU_TEXT} of node n1, by field manager "otherWriter-controller" (Update)`,
      ),
    });
  });

  it.each([
    { about: 'n1', kind: 'Node', who: 'TaintPolicy fought' },
    { about: 'fought', kind: 'TaintPolicy', who: 'Node n1:' },
  ])('an Event says so on the $kind, once', async ({ about, kind, who }) => {
    const event = await waitForEvent(cp(), about, 'TaintConflict');
    expect(event).toMatchObject({
      type: 'Warning',
      regarding: { kind },
      note: `${who} pauses setting taint ${GPU_TEXT}: another writer removes it repeatedly, last by field manager "otherWriter-controller" (Update)`,
    });
    expect(event.series).toBeUndefined();
    expect(await eventsAbout(cp(), about, 'TaintConflict')).toHaveLength(1);
  });

  it('the metrics say so', async () => {
    const replica = installation.replica('a');
    expect(await metricOf(replica, STALLED)).toBe(1);
    expect(await metricOf(replica, 'taintkeeper_drift_nodes{policy="fought"}')).toBe(1);
    expect(await metricOf(replica, 'taintkeeper_repairs_total{kind="Node",policy="fought"}')).toBe(LIMIT + 1);
  });

  it('the next leader tries as often, and gives up as well', async () => {
    await startUnseen('b');
    await installation.replica('a').stop();
    installation.replicas.delete('a');
    const b = installation.replica('b');
    await waitUntil(async () => (await metricOf(b, STALLED)) === 1 || undefined, {
      timeoutMs: 30_000,
      otherwise: () => `b has not given up; the repairs are ${JSON.stringify(repairsOf(cp()))}`,
    });
    expect(await leaderOf(cp())).toBe('b');
    await lookAgain('n3');
    await expect.poll(() => repairsOfNode('n1')).toBe(2 * LIMIT);
    await expect.poll(() => repairsOfNode('n2')).toBe(1);
  });
});
