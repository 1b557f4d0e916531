import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatTaint } from '../../src/kubernetes/taint.ts';
import { makeClusterAdmin } from '../control-plane/cluster-admin.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer, serviceAccount } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { seed } from '../seed.ts';
import { createNodes, createTaintPolicy, establish, patchNode, waitForTaints } from './drift.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { type NodeVersions, watchNodeVersions } from './node-versions.ts';
import { attempt, getNode, kubectl, type Node, path, type Taint, taintsOf } from './nodes.ts';

const WRITERS = 20;
/** Of all writers together; each writes a quarter as many whole nodes besides. */
const MERGE_PATCHES = 1_000;
const ROUNDS = MERGE_PATCHES / WRITERS;
/** A writer's copy of a node is from when it last came by, or from the time before: meanwhile the owner has written. */
const COPIES = 2;
/** Of the owner, while each of the others writes once or twice: whoever loses against all of them gets on when they are done. */
const OWNER_WRITES_A_ROUND = 2;
const TEST_TIMEOUT_MS = 120_000;

const KEYS = ['dedicated', 'own.example.com/team'];
const VALUES = ['a', 'b', undefined];
const owner = serviceAccount('kube-system', 'cluster-autoscaler');
const MODES = { denied: 'Deny', reverted: 'Restore' } as const;
const POOLS = Object.keys(MODES) as (keyof typeof MODES)[];
const NAMES = POOLS.flatMap((pool) => [1, 2, 3].map((number) => `${pool}-${number}`));

const isGuarded = ({ key }: { readonly key: string }) => KEYS.includes(key);
/** What of a list of taints only the owner may change. */
const guardedIn = (taints: readonly string[]) =>
  taints.filter((text) => KEYS.some((key) => text.startsWith(`${key}=`) || text.startsWith(`${key}:`))).toSorted();

/** What the owner writes, one after the other: of each key one value, or none. */
const wishes = fc.sample(
  fc.array(fc.constantFrom(...VALUES), { minLength: KEYS.length, maxLength: KEYS.length }).map((values) =>
    values.flatMap((value, index): Taint[] => {
      const key = KEYS[index];
      return key === undefined || value === undefined ? [] : [{ key, value, effect: 'NoSchedule' }];
    }),
  ),
  { numRuns: ROUNDS * OWNER_WRITES_A_ROUND, seed: seed() },
);

/** Sees to it that the guarded taints are these, whoever else writes meanwhile. What others put there is a little out of date, too. */
async function writeAsOwner(cp: ControlPlane, name: string, expected: readonly Taint[]): Promise<void> {
  for (;;) {
    const { spec } = await getNode(cp, name);
    const body = { spec: { taints: [...(spec.taints ?? []).filter((taint) => !isGuarded(taint)), ...expected] } };
    const answer = await cp.request<{ message?: string }>(owner, 'PATCH', path(name), {
      body,
      contentType: MERGE_PATCH,
    });
    if (answer.status === 200) return;
    // The API server gives up when others have been faster five times.
    expect([answer.status, answer.body.message]).toEqual([409, expect.anything()]);
  }
}

interface Tally {
  passed: number;
  refused: number;
  conflicts: number;
  /** The webhook did not answer in time: by `failurePolicy: Fail` they are refused. */
  unanswered: number;
  restored: number;
  reverted: number;
  readonly wrong: string[];
}

/** One of those who work on copies of nodes that are long out of date. */
async function startWriter(cp: ControlPlane, writer: number, tally: Tally): Promise<(round: number) => Promise<void>> {
  const copies = new Map<string, Node[]>();
  for (const name of NAMES) copies.set(name, [await getNode(cp, name)]);
  const mark: Taint = { key: `mark.example.com/w${writer}`, effect: 'PreferNoSchedule' };
  return async (round) => {
    const name = NAMES[(writer + round) % NAMES.length] ?? '';
    const known = copies.get(name) ?? [];
    const copy = known[0] ?? (await getNode(cp, name));
    const isMarked = round % 2 === 0;
    const taints = [...(copy.spec.taints ?? []).filter(({ key }) => key !== mark.key), ...(isMarked ? [mark] : [])];
    if (round % 4 === 0) await put(name, { ...copy, spec: { ...copy.spec, taints } }, round);
    await count(cp.request(developer, 'PATCH', path(name), { body: { spec: { taints } }, contentType: MERGE_PATCH }));
    known.push(await getNode(cp, name));
    if (known.length > COPIES) known.shift();
  };

  /** The whole node: in turn on condition that nobody has written it, and then once more; or on none at once. */
  async function put(name: string, node: Node, round: number): Promise<void> {
    const { resourceVersion: _, ...metadata } = node.metadata;
    if (round % 8 === 0) {
      await count(cp.request(developer, 'PUT', path(name), { body: { ...node, metadata } }));
    } else if ((await count(cp.request(developer, 'PUT', path(name), { body: node }))) === 409) {
      const { resourceVersion } = (await getNode(cp, name)).metadata;
      const body = { ...node, metadata: { ...metadata, resourceVersion } };
      await count(cp.request(developer, 'PUT', path(name), { body }));
    }
  }

  async function count(answer: ReturnType<ControlPlane['request']>): Promise<number> {
    const { status, body, warnings } = await answer;
    const { message = '' } = body as { message?: string };
    if (status === 200) tally.passed++;
    else if (status === 409) tally.conflicts++;
    else if (status === 403 && /(removing|adding) taint \S+ is not allowed/.test(message)) tally.refused++;
    else if (status === 500 && message.includes('failed calling webhook')) tally.unanswered++;
    else tally.wrong.push(`${status} ${message}`);
    if (warnings.some((text) => text.includes('restored taint'))) tally.restored++;
    if (warnings.some((text) => text.includes('removed taint'))) tally.reverted++;
    return status;
  }
}

describeWithControlPlane('taints whose removal and addition are restricted', {}, (cp) => {
  let installation: Installation;
  let nodes: NodeVersions;

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a', 'b']);
    await makeClusterAdmin(cp(), 'User', owner.name);
    nodes = await watchNodeVersions(cp());
  });
  afterAll(async () => {
    await nodes?.stop();
    await installation?.stop();
  });

  it('end, and are all the time, as their owner last wrote them: twenty writers with stale copies, a thousand merge patches', {
    timeout: TEST_TIMEOUT_MS,
  }, async (context) => {
    const taints = KEYS.map((key) => ({ key, restrict: ['Removal', 'Addition'] }));
    const exempt = { users: [owner.name] };
    for (const pool of POOLS) {
      const mode = MODES[pool];
      await createTaintPolicy(cp(), pool, { mode, taints, exempt, failurePolicy: 'Fail' });
      await createNodes(
        cp(),
        [1, 2, 3].map((number) => `${pool}-${number}`),
        pool,
      );
    }
    await installation.proxy.waitForReady('a', 'b');
    for (const pool of POOLS) await untilGuarded(`${pool}-1`);

    const tally: Tally = { passed: 0, refused: 0, conflicts: 0, unanswered: 0, restored: 0, reverted: 0, wrong: [] };
    const writers = await Promise.all(Array.from({ length: WRITERS }, (_, writer) => startWriter(cp(), writer, tally)));
    const expected = new Map<string, string[][]>(NAMES.map((name) => [name, [[]]]));
    const writeAll = async (round: number) => {
      for (let index = round * OWNER_WRITES_A_ROUND; index < (round + 1) * OWNER_WRITES_A_ROUND; index++) {
        const name = NAMES[index % NAMES.length] ?? '';
        const wish = wishes[index] ?? [];
        await writeAsOwner(cp(), name, wish);
        expected.get(name)?.push(wish.map(formatTaint).toSorted());
      }
    };
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all([writeAll(round), ...writers.map((write) => write(round))]);
      if (round !== ROUNDS / 2) continue;
      const leader = await leaderOf(cp());
      expect(await installation.replica(leader).stop()).toBe(0);
      installation.replicas.delete(leader);
    }
    await nodes.caughtUp();
    const written = [...expected.values()].reduce((sum, states) => sum + states.length - 1, 0);
    const versions = NAMES.reduce((sum, name) => sum + nodes.of(name).length, 0);
    const figures = `${written} writes of the owner, ${versions} versions; of the others ${JSON.stringify(tally)}`;
    await context.annotate(figures);
    process.stderr.write(`${figures}\n`);
    expect(tally.wrong).toEqual([]);
    expect(tally.unanswered).toBeLessThan(WRITERS);
    const { refused, restored, reverted, conflicts } = tally;
    expect(Math.min(refused, restored, reverted, conflicts)).toBeGreaterThan(WRITERS);
    for (const [name, states] of expected) {
      const seen = nodes.of(name).map((version) => guardedIn(version.taints));
      expect(distinct(seen), name).toEqual(distinct(states));
    }

    // Nor does the leader bring anything back that the owner took away, or take anything away.
    await createTaintPolicy(cp(), 'last', { taints: [{ key: 'last', effect: 'NoSchedule', ensure: 'Always' }] });
    await createNodes(cp(), ['last'], 'none');
    for (const name of NAMES) await patchNode(cp(), admin, name, { metadata: { labels: { looked: 'at' } } });
    await patchNode(cp(), admin, 'last', { metadata: { labels: { pool: 'last' } } });
    await waitForTaints(cp(), 'last', 'last:NoSchedule');
    for (const [name, states] of expected) expect(guardedIn(await taintsOf(cp(), name)), name).toEqual(states.at(-1));
  });

  async function untilGuarded(name: string): Promise<void> {
    const { metadata, spec } = await getNode(cp(), name);
    const taints = [...(spec.taints ?? []), { key: 'dedicated', effect: 'NoSchedule' }];
    await waitUntil(
      async () => {
        const url = `${path(metadata.name)}?dryRun=All`;
        const answer = await attempt(cp(), developer, 'PATCH', url, { spec: { taints } }, MERGE_PATCH);
        return !answer.passed || answer.warnings.length > 0 || undefined;
      },
      { timeoutMs: 30_000, otherwise: () => `additions to ${name} are not restricted` },
    );
  }

  describe("the two steps of Kyverno's test of its policy protect-node-taints", () => {
    const taint = (name: string, text: string) => ['taint', 'nodes', name, text];

    beforeAll(async () => {
      await createTaintPolicy(cp(), 'protect-node-taints', {
        mode: 'Deny',
        taints: [{ key: '*', restrict: ['Removal', 'Addition'] }],
        exempt: { groups: ['system:masters'] },
      });
      await createNodes(cp(), ['k1'], 'protect-node-taints');
      expect(await kubectl(cp(), admin, taint('k1', 'foo=bar:NoSchedule'))).toMatchObject({ passed: true });
      await untilGuarded('k1');
      await establish(cp(), 'k1', { key: 'foo', value: 'bar', effect: 'NoSchedule' });
    });

    it('a user who is no cluster-admin fails to alter the taints', async () => {
      const { passed, error } = await kubectl(cp(), developer, taint('k1', 'foo=bar:NoExecute'));
      expect([passed, await taintsOf(cp(), 'k1')]).toEqual([false, ['foo=bar:NoSchedule']]);
      expect(error).toContain(
        'node k1: adding taint foo=bar:NoExecute is not allowed (TaintPolicy "protect-node-taints", spec.taints[0], mode Deny). ' +
          'Only users that TaintPolicy "protect-node-taints" exempts may add the taint: group system:masters.',
      );
      expect(await kubectl(cp(), developer, taint('k1', 'foo-'))).toMatchObject({ passed: false });
    });

    it('a cluster-admin alters them', async () => {
      expect(await kubectl(cp(), admin, taint('k1', 'foo=bar:NoExecute'))).toMatchObject({ passed: true });
      expect((await taintsOf(cp(), 'k1')).toSorted()).toEqual(['foo=bar:NoExecute', 'foo=bar:NoSchedule']);
    });
  });
});

/** Without what is the same as the one before. */
function distinct(states: readonly (readonly string[])[]): readonly (readonly string[])[] {
  return states.filter((state, index) => state.join() !== states[index - 1]?.join());
}
