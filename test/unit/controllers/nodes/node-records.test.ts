import { describe, expect, it } from 'vitest';
import { MAX_DELETED_NODES } from '../../../../src/controllers/nodes/node-records.ts';
import type { NodeRecord } from '../../../../src/judge/node-return.ts';
import type { Machine } from '../../../../src/kubernetes/machine.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import { recordFields } from '../../../../src/objects/node-record.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
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
  it('have what nodes carry, an object for each; where no policy asks for it, a leader lists them once', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU]), onMachine('n2', [])]);
    await expectRecords(cluster, { n1: recordOf('n1') });
    expect(cluster.records.requests).toEqual(['GET', 'POST n1']);
    cluster.change('n2', { taints: [GPU] });
    await expectRecords(cluster, { n1: {}, n2: { taints: [RECORDED] } });

    const idle = startRepair({ p: { mode: 'Restore', taints: [{ ...GPU, ensure: 'Always' }] } }, [
      onMachine('n1', [GPU]),
    ]);
    await expect.poll(() => idle.writes.length).toBe(1);
    expect(idle.records.requests).toEqual(['GET']);
  });

  it('are written where they change, and by nobody else: a second leader writes nothing', async () => {
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
    const cluster = startRepair({ p: spec() }, [onMachine('here', [GPU])], { stored });
    await expectRecords(
      cluster,
      Object.fromEntries([...names.slice(0, MAX_DELETED_NODES), 'here'].map((n) => [n, {}])),
    );
  });

  it('that someone deletes are forgotten: the node is accepted as it is', async () => {
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

  it('that someone edits are written again', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])], { stored: kept('n2', Date.now()) });
    await expectRecords(cluster, { n1: {}, n2: {} });
    const forged = { ...RECORDED, value: 'forged' };
    cluster.records.put('n1', recordFields({ ...recordOf('n1'), taints: [forged] }, undefined));
    cluster.records.put('n2', { node: 'nonsense' });
    await expect.poll(() => cluster.records.writes()).toEqual(['POST n1', 'PATCH n1', 'PATCH n2']);
    await expectRecords(cluster, { n1: { taints: [RECORDED] }, n2: { taints: [RECORDED] } });
  });

  it('that someone creates are taken over, or deleted where there is nothing to record', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU]), onMachine('n2', [])]);
    await expectRecords(cluster, { n1: {} });
    cluster.records.put('n2', recordFields(recordOf('n2'), undefined));
    cluster.records.put('n3', recordFields(recordOf('n3'), undefined));
    await expectRecords(cluster, { n1: {}, n3: { deletedAt: expect.any(Number) } });
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
    await expect.poll(cluster.repair.troubles).toMatchObject([{ policy: 'p', reason: 'NodeRecordsNotWritten' }]);
    cluster.records.refuse(undefined);
    await expectRecords(cluster, { n1: {} });
    await expect.poll(cluster.repair.troubles).toEqual([]);
  });

  it('whose definition is not served are reported; required taints are restored all the same', async () => {
    const cluster = startRepair({ p: spec({ taints: [{ ...GPU, ensure: 'Always' }] }) }, [onMachine('n1', [])]);
    cluster.records.refuse(404);
    await expect.poll(cluster.repair.troubles).toMatchObject([
      {
        policy: 'p',
        reason: 'NodeRecordsNotWritten',
        message: expect.stringContaining('install the CustomResourceDefinition nodetaintrecords.taintkeeper.dev'),
      },
    ]);
    await expect.poll(() => cluster.taintsOf('n1')).toEqual([GPU]);
    cluster.records.refuse(undefined);
    await expectRecords(cluster, { n1: { taints: [RECORDED] } });
    await expect.poll(cluster.repair.troubles).toEqual([]);
  });

  it('alone say what a node lost: what only its annotation lists is taken out of it', async () => {
    const listing = (name: string) => {
      const entry = onMachine(name, []);
      return { ...entry, value: { ...entry.value, remembered: TEXT } };
    };
    const cluster = startRepair({ p: spec() }, [listing('lost'), listing('forged')], { stored: kept('lost') });
    await expect.poll(() => cluster.taintsOf('lost')).toEqual([GPU]);
    await expect.poll(() => cluster.cluster.get('forged')?.value.remembered).toBeUndefined();
    expect(cluster.taintsOf('forged')).toEqual([]);
    await expectRecords(cluster, { lost: { taints: [RECORDED] } });
  });

  it('that have not been read leave the annotation as it is', async () => {
    const entry = onMachine('n1', []);
    const cluster = startRepair({ p: spec() }, [{ ...entry, value: { ...entry.value, remembered: TEXT } }], {
      stored: kept('n1'),
    });
    cluster.records.refuse(500);
    await expect.poll(() => cluster.records.requests.length).toBeGreaterThan(1);
    expect(cluster.writes).toEqual([]);
    cluster.records.refuse(undefined);
    await expect.poll(() => cluster.taintsOf('n1')).toEqual([GPU]);
  });

  it('one of which is refused keeps back none of the others', async () => {
    const cluster = startRepair({ p: spec() }, []);
    cluster.records.refuse((name) => (name === 'n1' ? 422 : undefined));
    for (const name of ['n1', 'n2']) cluster.change(name, { taints: [GPU] });
    await expectRecords(cluster, { n2: {} });
    await expect
      .poll(cluster.repair.troubles)
      .toMatchObject([{ message: expect.stringContaining('the records of n1:') }]);
    cluster.records.refuse(undefined);
    cluster.change('n1', { labels: { a: 'b' } });
    await expectRecords(cluster, { n1: {}, n2: {} });
    await expect.poll(cluster.repair.troubles).toEqual([]);
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
  it('with its taints is told of', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])]);
    await expectRecords(cluster, { n1: {} });
    cluster.remove('n1');
    cluster.register(onMachine('n1', [GPU], 'second'));
    await expectRecords(cluster, { n1: { uid: 'second', taints: [RECORDED] } });
    expect(cluster.said()).toEqual(['n1 TaintReturned']);
    expect(cluster.saidOfPolicies()).toEqual([`Node n1: carries taint ${TEXT} again, as before it was deleted`]);
  });

  it('without them, because nobody was asked, gets them from the leader', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])]);
    await expectRecords(cluster, { n1: {} });
    cluster.remove('n1');
    cluster.register(onMachine('n1', [], 'second'));
    await expect.poll(() => cluster.taintsOf('n1')).toEqual([GPU]);
    expect(cluster.cluster.get('n1')?.value.remembered).toBe(TEXT);
    expect(cluster.said()).toEqual(['n1 TaintRestored']);
    await expectRecords(cluster, { n1: { uid: 'second', taints: [RECORDED] } });
  });

  it.each([
    { why: 'within the retention', after: 23 * HOUR, machine: MACHINE, taints: [GPU] },
    { why: 'when they are over', after: 24 * HOUR, machine: MACHINE, taints: [] },
    { why: 'on another machine', after: HOUR, machine: machineOf('two'), taints: [] },
  ])('while nobody led, $why, has $taints', async ({ after, machine, taints }) => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [], 'second', machine), onMachine('n2', [GPU])], {
      stored: kept('n1', Date.now() - after),
    });
    await expect.poll(() => cluster.records.all().n2).toBeDefined();
    await expect.poll(() => cluster.taintsOf('n1')).toEqual(taints);
    await expectRecords(cluster, taints.length > 0 ? { n1: { taints: [RECORDED] }, n2: {} } : { n2: {} });
  });

  it('without them in mode Deny is reported, and remembers them', async () => {
    const cluster = startRepair({ p: spec({ mode: 'Deny' }) }, [onMachine('n1', [], 'second')], {
      stored: kept('n1', Date.now()),
    });
    await expect.poll(() => cluster.cluster.get('n1')?.value.remembered).toBe(TEXT);
    await expect.poll(cluster.said).toEqual(['n1 TaintMissing']);
    expect(cluster.taintsOf('n1')).toEqual([]);
    expect(cluster.writes.map(({ patch }) => patch.spec)).toEqual([undefined]);
  });

  it('without them in mode Audit is reported, and nothing is written', async () => {
    const cluster = startRepair({ p: spec({ mode: 'Audit' }) }, [onMachine('n1', [], 'second')], {
      stored: kept('n1', Date.now()),
    });
    await expect.poll(cluster.said).toEqual(['n1 TaintMissing']);
    expect(cluster.writes).toEqual([]);
  });

  it('without them gets nothing that goes with leave', async () => {
    const entry = onMachine('n1', [], 'second');
    const announced = { ...entry, value: { ...entry.value, allowRemoval: TEXT } };
    const cluster = startRepair({ p: spec() }, [announced, onMachine('n2', [GPU])], { stored: kept('n1', Date.now()) });
    await expect.poll(cluster.said).toEqual(['n1 TaintRemovalAllowed']);
    await expectRecords(cluster, { n2: {} });
    expect(cluster.taintsOf('n1')).toEqual([]);
    expect(cluster.cluster.get('n1')?.value).toMatchObject({ allowRemoval: undefined, remembered: undefined });
  });

  it('gets them when the label comes by which the policy selects it', async () => {
    const pool = { nodeSelector: { matchLabels: { pool: 'gpu' } } };
    const cluster = startRepair({ p: spec(pool) }, [onMachine('n1', [], 'second')], { stored: kept('n1', Date.now()) });
    await expectRecords(cluster, { n1: { taints: [{ ...RECORDED, missingSince: expect.any(Number) }] } });
    expect(cluster.writes).toEqual([]);
    cluster.change('n1', { labels: { pool: 'gpu' } });
    await expect.poll(() => cluster.taintsOf('n1')).toEqual([GPU]);
    await expectRecords(cluster, { n1: { taints: [RECORDED] } });
  });
});
