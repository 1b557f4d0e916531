import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { MAX_DELETED_NODES } from '../../../../src/controllers/nodes/record-store.ts';
import type { NodeRecord } from '../../../../src/judge/node-record.ts';
import type { Machine } from '../../../../src/kubernetes/machine.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import { recordFields } from '../../../../src/objects/node-record.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { runTimeFaster } from '../../fast-time.ts';
import { stopClock } from '../../stopped-clock.ts';
import { nodeEntry } from './node-entries.ts';
import { startRepair } from './repaired-nodes.ts';

const HOUR = 3_600_000;
const GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' } as const;
const TEXT = 'dedicated=gpu:NoSchedule';
const RECORDED = { ...GPU, policies: ['p'] };
const machineOf = (systemUUID: string): Machine => ({ systemUUID, providerID: '' });
const MACHINE = machineOf('one');

const spec = (more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
  mode: 'Restore',
  taints: [{ key: 'dedicated', restrict: ['Removal'] }],
  deletedNodeRetentionSeconds: 86_400,
  ...more,
});
const onMachine = (name: string, taints: readonly Taint[], uid?: string, machine = MACHINE) => {
  const entry = nodeEntry(name, taints, uid);
  return { ...entry, value: { ...entry.value, machine } };
};
/** What an earlier leader wrote of a node with the taint. */
const recordOf = (name: string, deletedAt?: number, uid = `uid-${name}`): NodeRecord => ({
  uid,
  machine: MACHINE,
  taints: [RECORDED],
  ...(deletedAt === undefined ? {} : { deletedAt: Math.floor(deletedAt / 1000) * 1000 }),
});
const kept = (name: string, deletedAt?: number) => ({ [name]: recordOf(name, deletedAt) });

type Cluster = ReturnType<typeof startRepair>;

async function expectRecords({ records }: Cluster, expected: Record<string, object | undefined>) {
  const found = () => ({ names: Object.keys(records.all()).sort(), records: records.all() });
  await expect.poll(found).toMatchObject({ names: Object.keys(expected).sort(), records: expected });
}

describe('the records of nodes', () => {
  runTimeFaster();

  it('have what nodes carry, an object for each; where no policy asks for it, a leader lists them once', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU]), onMachine('n2', [])]);
    await expectRecords(cluster, { n1: recordOf('n1') });
    expect(cluster.records.requests).toEqual(['GET', 'POST n1']);
    cluster.change('n2', { taints: [GPU] });
    await expectRecords(cluster, { n1: {}, n2: { taints: [RECORDED] } });

    const idle = startRepair({ p: { mode: 'Audit', taints: [{ ...GPU, ensure: 'Always' }] } }, [onMachine('n1', [])]);
    await expect.poll(idle.said).toEqual(['n1 TaintMissing']);
    expect(idle.records.requests).toEqual(['GET']);
  });

  it('are written only where they change: a second leader does not write unchanged ones again', async () => {
    const first = startRepair({ p: spec() }, [onMachine('n1', [GPU]), onMachine('n2', [GPU])]);
    await expectRecords(first, { n1: {}, n2: {} });
    first.change('n1', { labels: { other: 'label' } });
    first.beat('n2');
    first.change('n3', { taints: [GPU] });
    await expectRecords(first, { n1: {}, n2: {}, n3: {} });
    expect(first.records.writes()).toEqual(['POST n1', 'POST n2', 'POST n3']);

    const second = startRepair({ p: spec() }, [onMachine('n1', [GPU])], { stored: kept('n1') });
    second.change('n2', { taints: [GPU] });
    await expectRecords(second, { n1: {}, n2: {} });
    expect(second.records.writes()).toEqual(['POST n2']);
  });

  it('name the policies; one that is deleted and created again writes nothing', async () => {
    const cluster = startRepair({ p: spec(), q: spec({ mode: 'Deny' }) }, [onMachine('n1', [GPU])]);
    await expectRecords(cluster, { n1: { taints: [{ policies: ['p', 'q'] }] } });
    cluster.setPolicies({});
    cluster.setPolicies({ p: spec(), q: spec({ mode: 'Deny' }) });
    cluster.setPolicies({ p: spec() });
    await expectRecords(cluster, { n1: { taints: [{ policies: ['p'] }] } });
    expect(cluster.records.writes()).toEqual(['POST n1', 'PATCH n1']);
  });

  it('say when a node was deleted, also while there was no leader', async () => {
    const at = Date.parse('2026-11-22T12:00:00Z');
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])], {
      stored: kept('n2'),
      now: () => new Date(at),
    });
    await expectRecords(cluster, { n1: {}, n2: { deletedAt: at } });
    cluster.remove('n1');
    await expectRecords(cluster, { n1: { deletedAt: at, taints: [RECORDED] }, n2: {} });
  });

  it('stay as they are while the Node exists and is too large to be read', async () => {
    const policy: TaintPolicySpec = { mode: 'Restore', taints: [{ key: 'dedicated', restrict: ['Removal'] }] };
    const cluster = startRepair({ p: policy }, [onMachine('n1', [GPU])], {
      stored: { ...kept('large'), ...kept('deleted') },
      unreadable: ['large'],
    });
    await expectRecords(cluster, { n1: {}, large: recordOf('large') });
    expect(cluster.records.writes().sort()).toEqual(['DELETE deleted', 'POST n1']);
  });

  it('are deleted when the retention is over', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])], {
      stored: { ...kept('old', Date.now() - 24 * HOUR - 1_000), ...kept('young', Date.now() - 23 * HOUR) },
    });
    await expectRecords(cluster, { n1: {}, young: {} });
  });

  it(`are kept of ${MAX_DELETED_NODES} deleted nodes: the oldest are deleted`, async () => {
    const now = Date.now();
    const names = Array.from({ length: MAX_DELETED_NODES + 3 }, (_, index) => `n${index}`);
    const stored = Object.fromEntries(names.map((name, age) => [name, recordOf(name, now - age * 1_000)]));
    stopClock();
    const cluster = startRepair({ p: spec() }, [onMachine('here', [GPU])], { stored });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(Object.keys(cluster.records.all()).sort()).toEqual([...names.slice(0, MAX_DELETED_NODES), 'here'].sort());
  });

  it('that a user deletes no longer count: the leader accepts the node as it is', async () => {
    const stored = { ...kept('gone', Date.now()), ...kept('back') };
    const cluster = startRepair({ p: spec({ mode: 'Deny' }) }, [onMachine('n1', [GPU]), onMachine('back', [], 'new')], {
      stored,
    });
    await expectRecords(cluster, { n1: {}, gone: {}, back: { uid: 'new' } });
    cluster.records.remove('gone');
    cluster.records.remove('n1');
    await expectRecords(cluster, { n1: { taints: [RECORDED] }, back: {} });
    expect(Object.keys(cluster.records.all())).not.toContain('gone');
  });

  it('that a user edits are restored by the leader', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])], { stored: kept('n2', Date.now()) });
    await expectRecords(cluster, { n1: {}, n2: {} });
    const forged = { ...RECORDED, value: 'forged' };
    cluster.records.put('n1', recordFields({ ...recordOf('n1'), taints: [forged] }, undefined));
    cluster.records.put('n2', { node: 'nonsense' });
    await expect.poll(() => cluster.records.writes()).toEqual(['POST n1', 'PATCH n1', 'PATCH n2']);
    await expectRecords(cluster, { n1: { taints: [RECORDED] }, n2: { taints: [RECORDED] } });
  });

  it('that a user creates are adopted by the leader, or deleted where there is nothing to record', async () => {
    const cluster = startRepair(
      { p: spec() },
      ['n1', 'n2', 'n4'].map((name) => onMachine(name, name === 'n1' ? [GPU] : [])),
    );
    await expectRecords(cluster, { n1: {} });
    cluster.records.put('n2', recordFields(recordOf('n2'), undefined));
    cluster.records.put('n3', recordFields(recordOf('n3'), undefined));
    cluster.records.put('n4', recordFields({ ...recordOf('n4'), taints: [] }, undefined));
    await expectRecords(cluster, { n1: {}, n2: { taints: [RECORDED] }, n3: { deletedAt: expect.any(Number) } });
    await expect.poll(() => cluster.taintsOf('n2')).toEqual([GPU]);
    expect(cluster.taintsOf('n4')).toEqual([]);
  });

  it('are taken as they are where another leader was first', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])]);
    await expectRecords(cluster, { n1: {} });
    let isFirst = true;
    cluster.records.refuse((name) => {
      if (name === 'n2' && isFirst) {
        isFirst = false;
        cluster.records.put('n2', recordFields(recordOf('n2'), undefined));
      }
      return undefined;
    });
    cluster.change('n2', { taints: [GPU] });
    await expectRecords(cluster, { n1: {}, n2: { taints: [RECORDED], machine: { systemUUID: '' } } });
  });

  it('that may not be written are reported, and written once they may', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])]);
    cluster.records.refuse(403);
    await expect.poll(cluster.repair.problems).toMatchObject([{ policy: 'p', reason: 'NodeRecordsNotWritten' }]);
    cluster.records.refuse(undefined);
    await expectRecords(cluster, { n1: {} });
    await expect.poll(cluster.repair.problems).toEqual([]);
  });

  it('whose definition is not served are reported; required taints are restored once they can be read', async () => {
    const cluster = startRepair({ p: spec({ taints: [{ ...GPU, ensure: 'Always' }] }) }, [onMachine('n1', [])]);
    cluster.records.refuse(404);
    await expect.poll(cluster.repair.problems).toMatchObject([
      {
        policy: 'p',
        reason: 'NodeRecordsNotWritten',
        message: expect.stringContaining('install the CustomResourceDefinition nodetaintrecords.taintkeeper.dev'),
      },
    ]);
    expect([cluster.taintsOf('n1'), cluster.said()]).toEqual([[], []]);
    cluster.records.refuse(undefined);
    await expect.poll(() => cluster.taintsOf('n1')).toEqual([GPU]);
    await expectRecords(cluster, { n1: { taints: [RECORDED] } });
    await expect.poll(cluster.repair.problems).toEqual([]);
  });

  it('alone say what a node lost: one of an earlier Node on another machine does not', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('lost', []), onMachine('new', [], 'b', machineOf('two'))], {
      stored: { ...kept('lost'), ...kept('new') },
    });
    await expect.poll(() => cluster.taintsOf('lost')).toEqual([GPU]);
    await expectRecords(cluster, { lost: { taints: [RECORDED] } });
    expect(cluster.taintsOf('new')).toEqual([]);
  });

  it('one of which is refused keeps back none of the others', async () => {
    const cluster = startRepair({ p: spec() }, []);
    cluster.records.refuse((name) => (name === 'n1' ? 422 : undefined));
    for (const name of ['n1', 'n2']) cluster.change(name, { taints: [GPU] });
    await expectRecords(cluster, { n2: {} });
    await expect
      .poll(cluster.repair.problems)
      .toMatchObject([{ message: expect.stringContaining('the records of n1:') }]);
    cluster.records.refuse(undefined);
    cluster.change('n1', { labels: { a: 'b' } });
    await expectRecords(cluster, { n1: {}, n2: {} });
    await expect.poll(cluster.repair.problems).toEqual([]);
  });

  it('one of which may never be written delays none of the others', async () => {
    stopClock();
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])]);
    cluster.records.refuse((name) => (name === 'n1' ? 403 : undefined));
    for (const name of ['n2', 'n3', 'n4']) {
      // By now, the record that is refused waits for longer than the others may.
      await vi.advanceTimersByTimeAsync(10_000);
      cluster.change(name, { taints: [GPU] });
      await vi.advanceTimersByTimeAsync(500);
      expect(cluster.records.writes()).toContain(`POST ${name}`);
    }
    expect(cluster.repair.problems()).toMatchObject([
      { reason: 'NodeRecordsNotWritten', message: expect.stringContaining('refuses the records of n1: ') },
    ]);
    cluster.records.refuse(undefined);
    cluster.repair.policiesChanged();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(Object.keys(cluster.records.all()).sort()).toEqual(['n1', 'n2', 'n3', 'n4']);
    expect(cluster.repair.problems()).toEqual([]);
  });

  it('all of which are refused are tried one at a time, with pauses, and written at full speed once one is accepted', async () => {
    stopClock();
    const names = Array.from({ length: 200 }, (_, index) => `n${index}`);
    const cluster = startRepair(
      { p: spec() },
      names.map((name) => onMachine(name, [GPU])),
    );
    cluster.records.refuse(403);
    await vi.advanceTimersByTimeAsync(60_000);
    const refused = cluster.records.requests.length;
    cluster.records.refuse(undefined);
    await vi.advanceTimersByTimeAsync(35_000);
    expect(Object.keys(cluster.records.all())).toHaveLength(200);
    expect(refused).toBeLessThan(50);
  });

  it('from the future count from now: a clock was wrong', async () => {
    const now = Date.now();
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])], {
      stored: { ...kept('n2', now + 48 * HOUR), ...kept('n3', now + 60_000) },
      now: () => new Date(now),
    });
    const second = Math.floor(now / 1000) * 1000;
    await expectRecords(cluster, { n1: {}, n2: { deletedAt: second }, n3: { deletedAt: second + 60_000 } });
  });
});

describe('a node that came back', () => {
  runTimeFaster();

  it('with its taints is told of', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])]);
    await expectRecords(cluster, { n1: {} });
    cluster.remove('n1');
    cluster.register(onMachine('n1', [GPU], 'second'));
    await expectRecords(cluster, { n1: { uid: 'second', taints: [RECORDED] } });
    expect(cluster.said()).toEqual(['n1 TaintReturned']);
    expect(cluster.saidOfPolicies()).toEqual([`Node n1: carries taint ${TEXT} again, as before it was deleted`]);
  });

  it('without its taints, because the API server did not call the webhook, gets them from the leader', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])]);
    await expectRecords(cluster, { n1: {} });
    cluster.remove('n1');
    cluster.register(onMachine('n1', [], 'second'));
    await expect.poll(() => cluster.taintsOf('n1')).toEqual([GPU]);
    expect(cluster.said()).toEqual(['n1 TaintRestored']);
    await expectRecords(cluster, { n1: { uid: 'second', taints: [RECORDED] } });
  });

  it.each([
    { why: 'within the retention', after: 23 * HOUR, machine: MACHINE, taints: [GPU] },
    { why: 'when they are over', after: 24 * HOUR, machine: MACHINE, taints: [] },
    { why: 'on another machine', after: HOUR, machine: machineOf('two'), taints: [] },
  ])('while no replica led, $why, has $taints', async ({ after, machine, taints }) => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [], 'second', machine), onMachine('n2', [GPU])], {
      stored: kept('n1', Date.now() - after),
    });
    await expect.poll(() => cluster.records.all().n2).toBeDefined();
    await expect.poll(() => cluster.taintsOf('n1')).toEqual(taints);
    await expectRecords(cluster, taints.length > 0 ? { n1: { taints: [RECORDED] }, n2: {} } : { n2: {} });
  });

  it('without them in mode Deny is reported, and its record lists them as missing', async () => {
    const cluster = startRepair({ p: spec({ mode: 'Deny' }) }, [onMachine('n1', [], 'second')], {
      stored: kept('n1', Date.now()),
    });
    const missing = { ...RECORDED, earlierDeletedAt: expect.any(Number) };
    await expectRecords(cluster, { n1: { uid: 'second', taints: [missing] } });
    await expect.poll(cluster.said).toEqual(['n1 TaintMissing']);
    expect(cluster.writes).toEqual([]);
  });

  it('without them in mode Audit is reported, and nothing is written', async () => {
    const cluster = startRepair({ p: spec({ mode: 'Audit' }) }, [onMachine('n1', [], 'second')], {
      stored: kept('n1', Date.now()),
    });
    await expect.poll(cluster.said).toEqual(['n1 TaintMissing']);
    expect(cluster.writes).toEqual([]);
  });

  it('without them gets none that the annotation allow-removal names', async () => {
    const entry = onMachine('n1', [], 'second');
    const announced = { ...entry, value: { ...entry.value, allowRemoval: TEXT } };
    const cluster = startRepair({ p: spec() }, [announced, onMachine('n2', [GPU])], { stored: kept('n1', Date.now()) });
    await expectRecords(cluster, { n2: {} });
    expect(cluster.taintsOf('n1')).toEqual([]);
  });

  it('gets them when the label comes by which the policy selects it', async () => {
    const pool = { nodeSelector: { matchLabels: { pool: 'gpu' } } };
    const cluster = startRepair({ p: spec(pool) }, [onMachine('n1', [], 'second')], { stored: kept('n1', Date.now()) });
    await expectRecords(cluster, { n1: { taints: [{ ...RECORDED, earlierDeletedAt: expect.any(Number) }] } });
    expect(cluster.writes).toEqual([]);
    cluster.change('n1', { labels: { pool: 'gpu' } });
    await expect.poll(() => cluster.taintsOf('n1')).toEqual([GPU]);
    await expectRecords(cluster, { n1: { taints: [RECORDED] } });
  });
});

describe('in the course of time,', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: Date.parse('2026-11-22T12:00:00Z') });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Changes are written within this time. */
  const PROMPT_MS = 500;
  /** From the time at which a record was written until an entry of the annotation is deleted. */
  const SPREAD_MS = 2_000;
  const pass = (ms = PROMPT_MS) => vi.advanceTimersByTimeAsync(ms);
  const plain = (value: Partial<TaintPolicySpec>): TaintPolicySpec => ({ mode: 'Restore', taints: [], ...value });
  const REQUIRED = plain({ taints: [{ ...GPU, ensure: 'Always' }] });
  const PROTECTED = plain({ taints: [{ key: 'dedicated', restrict: ['Removal'] }] });
  const REMOVED = { ...RECORDED, removedAt: expect.any(Number) };
  /** What the leader has made of the annotation, in that order; null: it has deleted it. */
  const entriesWritten = ({ writes }: Cluster) =>
    writes
      .map(({ patch }) => patch.metadata.annotations['taintkeeper.dev/allow-removal'])
      .filter((one) => one !== undefined);

  /** A leader that has seen the node with the taint. */
  async function watching(policy: TaintPolicySpec) {
    const cluster = startRepair({ p: policy }, [onMachine('n1', [GPU])]);
    await pass();
    return cluster;
  }

  it('nothing is repaired while they cannot be read, because a taint may have been removed with permission', async () => {
    const removed = { ...recordOf('removed'), taints: [{ ...RECORDED, removedAt: 0 }] };
    const cluster = startRepair({ p: REQUIRED }, [onMachine('n1', []), onMachine('removed', [])], {
      stored: { removed },
    });
    cluster.records.refuse(500);
    await pass();
    cluster.change('n1', { labels: { a: 'b' } });
    await pass(HOUR);
    expect([cluster.writes, cluster.said()]).toEqual([[], []]);
    cluster.records.refuse(undefined);
    await pass(60_000);
    expect(['n1', 'removed'].map((name) => cluster.taintsOf(name))).toEqual([[GPU], []]);
  });

  describe('a recorded taint that the node lost', () => {
    const DENY_IT = plain({ mode: 'Deny', taints: [{ key: 'dedicated', restrict: ['Removal'] }] });
    const recordedOn = (cluster: Cluster) => cluster.records.all().n1?.taints[0];
    const BLOCKED = { reason: 'ModeDoesNotRestore', message: 'mode Deny does not restore it' } as const;

    it('is recorded as missing after five seconds, with the reason, until the node carries it again', async () => {
      const cluster = await watching(DENY_IT);
      const lostAt = Date.now();
      cluster.change('n1', { taints: [] });
      await pass(4_500);
      expect(recordedOn(cluster)).toEqual(RECORDED);
      await pass(1_000);
      const missingSince = Math.floor(lostAt / 1000) * 1000;
      expect(recordedOn(cluster)).toEqual({ ...RECORDED, missingSince, blocked: BLOCKED });
      await pass(HOUR);
      expect(cluster.records.writes()).toEqual(['POST n1', 'PATCH n1']);
      cluster.change('n1', { taints: [GPU] });
      await pass();
      expect(recordedOn(cluster)).toEqual(RECORDED);
    });

    it('and that is restored at once costs no write', async () => {
      const cluster = await watching(PROTECTED);
      cluster.change('n1', { taints: [] });
      await pass(HOUR);
      expect([cluster.taintsOf('n1'), cluster.records.writes()]).toEqual([[GPU], ['POST n1']]);
    });

    it('is recorded as missing by the next leader as well, without a write', async () => {
      const missing = { ...RECORDED, missingSince: 0, blocked: BLOCKED };
      const cluster = startRepair({ p: DENY_IT }, [onMachine('n1', [])], {
        stored: { n1: { ...recordOf('n1'), taints: [missing] } },
      });
      await pass(HOUR);
      expect([recordedOn(cluster), cluster.records.writes()]).toEqual([missing, []]);
    });

    it('does not keep used entries of the annotation from being deleted', async () => {
      const other = { key: 'other', effect: 'NoSchedule' } as const;
      const both = plain({
        mode: 'Deny',
        taints: ['dedicated', 'other'].map((key) => ({ key, restrict: ['Removal'] })),
      });
      const cluster = startRepair({ p: both }, [onMachine('n1', [GPU, other])]);
      await pass();
      cluster.change('n1', { taints: [other] });
      await pass(10_000);
      cluster.change('n1', { taints: [], allowRemoval: 'other:NoSchedule-' });
      await pass(SPREAD_MS + PROMPT_MS);
      expect(cluster.cluster.get('n1')?.value.allowRemoval).toBeUndefined();
      expect(cluster.records.all().n1?.taints).toMatchObject([{ key: 'dedicated', blocked: BLOCKED }]);
    });

    it('of an earlier Node is not written again by the next leader', async () => {
      const missing = { ...RECORDED, earlierDeletedAt: Date.now(), blocked: BLOCKED };
      const cluster = startRepair({ p: { ...DENY_IT, deletedNodeRetentionSeconds: 86_400 } }, [onMachine('n1', [])], {
        stored: { n1: { ...recordOf('n1'), taints: [missing] } },
      });
      await pass(HOUR);
      expect([recordedOn(cluster), cluster.records.writes()]).toEqual([missing, []]);
    });

    it.each(['for a moment', 'for good'])(
      'is forgotten only where the labels keep the node out of the policy: %s',
      async (how) => {
        const pool = { pool: 'gpu' };
        const policy = { ...DENY_IT, nodeSelector: { matchLabels: pool } };
        const entry = onMachine('n1', [GPU]);
        const cluster = startRepair({ p: policy }, [{ ...entry, value: { ...entry.value, labels: pool } }]);
        await pass(HOUR);
        cluster.change('n1', { taints: [] });
        await pass(6_000);
        cluster.change('n1', { labels: {} });
        await pass(how === 'for good' ? 11_000 : 9_000);
        cluster.change('n1', { labels: pool });
        await pass(6_000);
        expect(recordedOn(cluster)).toEqual(
          how === 'for good' ? undefined : { ...RECORDED, missingSince: expect.any(Number), blocked: BLOCKED },
        );
      },
    );

    it('has the first message of equal refusals: another request id in it is no write', async () => {
      const cluster = await watching(PROTECTED);
      let request = 0;
      cluster.beforeWrite.mockImplementation((name) => {
        throw new ApiError('PATCH', `/api/v1/nodes/${name}`, 403, 'Forbidden', `request ${++request}`);
      });
      cluster.change('n1', { taints: [] });
      await pass(HOUR);
      expect(request).toBeGreaterThan(10);
      expect(cluster.records.writes()).toEqual(['POST n1', 'PATCH n1']);
    });

    it('names the other writer of a conflict', async () => {
      const cluster = await watching(PROTECTED);
      for (let time = 0; time < 4; time++) {
        cluster.change('n1', { taints: [] });
        await pass();
      }
      await pass(5_000);
      expect(recordedOn(cluster)?.blocked).toEqual({
        reason: 'Conflict',
        message: 'another writer removes it repeatedly, last by field manager "other-writer" (Update)',
      });
    });

    it('names the answer of the API server that refuses the update', async () => {
      const cluster = await watching(PROTECTED);
      cluster.beforeWrite.mockImplementation((name) => {
        throw new ApiError('PATCH', `/api/v1/nodes/${name}`, 403, 'Forbidden', 'another webhook denied it');
      });
      cluster.change('n1', { taints: [] });
      // The leader tries again after longer and longer pauses.
      await pass(30_000);
      expect(recordedOn(cluster)?.blocked).toMatchObject({ reason: 'UpdateRefused' });
      expect(recordedOn(cluster)?.blocked?.message).toContain('another webhook denied it');
      cluster.beforeWrite.mockReset();
      await pass(60_000);
      expect([cluster.taintsOf('n1'), recordedOn(cluster)]).toEqual([[GPU], RECORDED]);
    });
  });

  it('are removed where they cannot be read, also once the node is deleted', async () => {
    const cluster = startRepair({ p: PROTECTED }, []);
    await pass();
    cluster.records.put('gone', { node: 'nonsense' });
    await pass();
    expect(cluster.records.writes()).toEqual(['DELETE gone']);
  });

  describe('a removal with permission', () => {
    it('of a required taint is recorded, and the taint stays off until a user sets it', async () => {
      const cluster = await watching(REQUIRED);
      expect(cluster.records.all()).toEqual({});
      cluster.change('n1', { taints: [], allowRemoval: TEXT });
      await pass();
      expect(cluster.records.all()).toMatchObject({
        n1: { taints: [{ ...RECORDED, removedAt: Date.parse('2026-11-22T12:00:00Z') }] },
      });
      await pass(HOUR);
      expect([cluster.taintsOf('n1'), cluster.said()]).toEqual([[], []]);
      cluster.change('n1', { taints: [GPU] });
      await pass();
      expect(cluster.records.all()).toEqual({});
      cluster.change('n1', { taints: [] });
      await pass();
      expect(cluster.taintsOf('n1')).toEqual([GPU]);
    });

    it('of one that is only protected: the record does not list it any more', async () => {
      const cluster = await watching(PROTECTED);
      expect(cluster.records.all()).toMatchObject({ n1: { taints: [RECORDED] } });
      cluster.change('n1', { taints: [], allowRemoval: TEXT });
      await pass();
      expect(cluster.records.all()).toEqual({});
      await pass(HOUR);
      expect([cluster.taintsOf('n1'), cluster.said()]).toEqual([[], []]);
    });

    it.each([
      { what: 'required', policy: REQUIRED, listed: ['n1'] },
      { what: 'protected', policy: PROTECTED, listed: [] },
    ])('of a $what taint: its entry is deleted 2 s after the record was written', async ({ policy, listed }) => {
      const cluster = await watching(policy);
      cluster.records.refuse(500);
      cluster.change('n1', { taints: [], allowRemoval: TEXT });
      await pass(10 * SPREAD_MS);
      expect(entriesWritten(cluster)).toEqual([]);
      cluster.records.refuse(undefined);
      const isWritten = () => Object.keys(cluster.records.all()).length === listed.length;
      for (let waited = 0; !isWritten() && waited < 120_000; waited += 10) await pass(10);
      expect(Object.keys(cluster.records.all())).toEqual(listed);
      await pass(SPREAD_MS - 20);
      // What has the node looked at meanwhile does not shorten the wait.
      cluster.change('n1', { labels: { a: 'b' } });
      await pass(5);
      expect(entriesWritten(cluster)).toEqual([]);
      await pass(15);
      expect(entriesWritten(cluster)).toEqual([null]);
      expect(cluster.taintsOf('n1')).toEqual([]);
    });

    it('keeps the entries that are not used', async () => {
      const cluster = await watching(REQUIRED);
      const other = { key: 'other', effect: 'NoSchedule' };
      cluster.change('n1', { taints: [GPU, other] });
      await pass();
      cluster.change('n1', { taints: [other], allowRemoval: `other:NoSchedule, ${TEXT}` });
      await pass(SPREAD_MS + 2 * PROMPT_MS);
      expect(entriesWritten(cluster)).toEqual(['other:NoSchedule']);
    });

    it.each([
      { what: 'required', spec: REQUIRED },
      { what: 'protected', spec: PROTECTED },
    ])('of a $what taint by annotation counts only where no policy forbids that', async ({ spec: policy }) => {
      for (const { removalByAnnotation, taints } of [
        { removalByAnnotation: 'Allowed', taints: [] },
        { removalByAnnotation: 'Forbidden', taints: [GPU] },
      ] as const) {
        const cluster = await watching({ ...policy, removalByAnnotation });
        cluster.change('n1', { allowRemoval: TEXT });
        await pass();
        cluster.change('n1', { taints: [] });
        await pass(SPREAD_MS + 2 * PROMPT_MS);
        expect([removalByAnnotation, cluster.taintsOf('n1'), entriesWritten(cluster)]).toEqual([
          removalByAnnotation,
          taints,
          [null],
        ]);
      }
    });

    it.each([
      { how: 'as one update shows', isListed: undefined, taints: [] },
      { how: 'but not where a list shows it: there may have been two updates', isListed: true, taints: [GPU] },
    ] as const)(
      'of an exempt user counts also where a policy forbids removal by annotation, $how',
      async ({ isListed, taints }) => {
        const cluster = await watching({
          ...REQUIRED,
          removalByAnnotation: 'Forbidden',
          exempt: { users: ['autoscaler'] },
        });
        cluster.change('n1', { taints: [], allowRemoval: `${TEXT}-` }, isListed === undefined ? {} : { isListed });
        await pass(SPREAD_MS + 2 * PROMPT_MS);
        expect([cluster.taintsOf('n1'), entriesWritten(cluster)]).toEqual([taints, [null]]);
      },
    );

    it('stays recorded for the next leader', async () => {
      const stored = { n1: { ...recordOf('n1'), taints: [{ ...RECORDED, removedAt: Date.now() - HOUR }] } };
      const cluster = startRepair({ p: REQUIRED }, [onMachine('n1', [])], { stored });
      await pass(HOUR);
      expect([cluster.taintsOf('n1'), cluster.records.writes()]).toEqual([[], []]);
    });

    it('is forgotten 10 s after the last policy that required the taint was deleted, and not before', async () => {
      const cluster = await watching(REQUIRED);
      cluster.change('n1', { taints: [], allowRemoval: TEXT });
      await pass(SPREAD_MS + 2 * PROMPT_MS);
      cluster.setPolicies({});
      await pass(9_000);
      expect(cluster.records.all()).toMatchObject({ n1: { taints: [REMOVED] } });
      await pass(2_000);
      expect(cluster.records.all()).toEqual({});
      cluster.setPolicies({ p: REQUIRED });
      await pass();
      expect(cluster.taintsOf('n1')).toEqual([GPU]);
    });
  });

  describe('what no policy has recorded any more', () => {
    const DENY = { p: { ...PROTECTED, mode: 'Deny' } } as const;
    /** A node that has lost the taint, and one that carries it. */
    const both = async (isComplete = () => true) => {
      const stored = { ...kept('lost'), ...kept('has') };
      const cluster = startRepair(DENY, [onMachine('lost', []), onMachine('has', [GPU])], { stored, isComplete });
      await pass();
      return cluster;
    };
    const listed = ({ records }: Cluster) => Object.keys(records.all()).sort();

    it.each([
      { what: 'is deleted', without: {} },
      { what: 'is in mode Audit', without: { p: { ...PROTECTED, mode: 'Audit' } } as const },
    ])(
      'is forgotten after 10 s where it is lost, and after an hour where it is carried, once the policy $what',
      async ({ without }) => {
        const cluster = await both();
        cluster.setPolicies(without);
        await pass(9_900);
        expect(listed(cluster)).toEqual(['has', 'lost']);
        await pass(PROMPT_MS);
        expect(listed(cluster)).toEqual(['has']);
        await pass(HOUR - 11_000);
        expect(listed(cluster)).toEqual(['has']);
        await pass(600_000);
        expect(listed(cluster)).toEqual([]);
        cluster.setPolicies({ p: PROTECTED });
        await pass();
        expect(cluster.taintsOf('lost')).toEqual([]);
        expect(cluster.writes).toEqual([]);
      },
    );

    it('is forgotten soon also where the first sweep takes longer than that', async () => {
      let calls = 0;
      const isComplete = () => {
        // While the node is checked for the first time.
        if (++calls === 1) vi.advanceTimersByTime(10_000);
        return true;
      };
      const policies = { q: plain({ taints: [{ key: 'other', restrict: ['Removal'] }] }) };
      const cluster = startRepair(policies, [onMachine('lost', [])], { stored: kept('lost'), isComplete });
      await pass(2_000);
      expect(listed(cluster)).toEqual([]);
    });

    it('is not forgotten where a policy is replaced by one command', async () => {
      const cluster = await both();
      cluster.setPolicies({});
      await pass(9_000);
      cluster.setPolicies(DENY);
      await pass(2 * HOUR);
      // Mode Deny does not restore the taint: the record says so.
      expect([listed(cluster), cluster.writes, cluster.records.writes()]).toEqual([
        ['has', 'lost'],
        [],
        ['PATCH lost'],
      ]);
      cluster.setPolicies({ p: PROTECTED });
      await pass();
      expect(cluster.taintsOf('lost')).toEqual([GPU]);
    });

    it('is not forgotten while a policy is not known', async () => {
      let isComplete = false;
      const cluster = await both(() => isComplete);
      cluster.setPolicies({});
      await pass(3 * HOUR);
      expect(listed(cluster)).toEqual(['has', 'lost']);
      isComplete = true;
      await pass(600_000);
      expect(listed(cluster)).toEqual([]);
    });
  });
});
