import { describe, expect, it } from 'vitest';
import { machineMarks } from '../../../../src/kubernetes/machine.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import { mark } from '../../../../src/kubernetes/text.ts';
import { formatRecord, parseRecord } from '../../../../src/objects/node-record.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { nodeEntry } from './node-entries.ts';
import { startRepair } from './repaired-nodes.ts';

const HOUR = 3_600_000;
const GPU: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const TEXT = 'dedicated=gpu:NoSchedule';
const MACHINE = machineMarks({ systemUUID: 'one' });

const spec = (more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
  mode: 'Restore',
  taints: [{ key: 'dedicated' }],
  deletedNodeRetentionSeconds: 86_400,
  ...more,
});
const onMachine = (name: string, taints: readonly Taint[], uid?: string, machine = MACHINE) => {
  const entry = nodeEntry(name, taints, uid);
  return { ...entry, value: { ...entry.value, machine } };
};
/** What an earlier leader wrote of a node with the taint. */
const kept = (name: string, deletedAt?: number, uid = `uid-${name}`) => ({
  [name]: formatRecord({ uid: mark(uid), machine: MACHINE, taints: [GPU], deletedAt }),
});

type Cluster = ReturnType<typeof startRepair>;

async function expectRecords({ configMaps }: Cluster, expected: Record<string, object | undefined>) {
  const found = () => {
    const entries = Object.entries(configMaps.entries());
    const records = Object.fromEntries(entries.map(([name, text]) => [name, parseRecord(text)]));
    return { names: Object.keys(records).sort(), records };
  };
  await expect.poll(found).toMatchObject({ names: Object.keys(expected).sort(), records: expected });
}

describe('what the leader keeps of nodes', () => {
  it('is what they carry, in one ConfigMap; nothing is asked where no policy wants it', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU]), onMachine('n2', [])]);
    await expectRecords(cluster, { n1: { uid: mark('uid-n1'), machine: MACHINE, taints: [GPU] } });
    expect(cluster.configMaps.requests).toEqual(['GET', 'POST']);
    cluster.change('n2', { taints: [GPU] });
    await expectRecords(cluster, { n1: {}, n2: { taints: [GPU] } });

    const idle = startRepair({ p: { mode: 'Restore', taints: [{ key: 'dedicated' }] } }, [onMachine('n1', [GPU])]);
    await expect.poll(() => idle.writes.length).toBe(1);
    expect(idle.configMaps.requests).toEqual([]);
  });

  it('is written once for many changes that come together', async () => {
    const names = Array.from({ length: 50 }, (_, index) => `n${index}`);
    const cluster = startRepair({ p: spec() }, []);
    for (const name of names) cluster.change(name, { taints: [GPU] });
    await expectRecords(cluster, Object.fromEntries(names.map((name) => [name, {}])));
    expect(cluster.configMaps.requests).toEqual(['GET', 'POST']);
  });

  it('says when a node was deleted, also while nobody led', async () => {
    const at = Date.parse('2026-11-22T12:00:00Z');
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])], {
      stored: kept('n2'),
      now: () => new Date(at),
    });
    await expectRecords(cluster, { n1: {}, n2: { deletedAt: at } });
    cluster.remove('n1');
    await expectRecords(cluster, { n1: { deletedAt: at }, n2: {} });
    expect(parseRecord(cluster.configMaps.entries().n1 ?? '')?.taints).toEqual([GPU]);
  });

  it('is forgotten when the retention is over', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])], {
      stored: { ...kept('old', Date.now() - 24 * HOUR), ...kept('young', Date.now() - 23 * HOUR) },
    });
    await expectRecords(cluster, { n1: {}, young: {} });
  });

  it('leaves what is no record where it is and says so, but for nodes that are there', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])], {
      stored: { n1: '{"uid":', 'config.yaml': 'replicas: 2' },
    });
    await expectRecords(cluster, { n1: { taints: [GPU] }, 'config.yaml': undefined });
    expect(cluster.messages()).toContain(
      'ConfigMap taintkeeper/taintkeeper-nodes: left as they are, because they are no records: config.yaml',
    );
  });

  it('gives way to somebody who takes out the entry of a node that is gone', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])], { stored: kept('n2', Date.now()) });
    await expectRecords(cluster, { n1: {}, n2: {} });
    cluster.configMaps.edit((entries) => entries.clear());
    cluster.change('n3', { taints: [GPU] });
    await expectRecords(cluster, { n1: {}, n3: {} });
  });

  it('is told not to be kept where it may not be written, or finds no room', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])]);
    cluster.configMaps.refuse(403);
    await expect.poll(cluster.repair.troubles).toMatchObject([{ policy: 'p', reason: 'NodeRecordsRefused' }]);
    cluster.configMaps.refuse(undefined);
    await expectRecords(cluster, { n1: {} });
    await expect.poll(cluster.repair.troubles).toEqual([]);

    const full = startRepair({ p: spec() }, [onMachine('n1', [GPU])], { stored: { notes: 'x'.repeat(999_950) } });
    await expect.poll(full.repair.troubles).toEqual([
      {
        kind: 'TaintPolicy',
        policy: 'p',
        reason: 'NodeRecordsFull',
        message:
          'ConfigMap taintkeeper/taintkeeper-nodes is full: if they are deleted, these nodes may get nothing back: n1',
      },
    ]);
  });
});

describe('a node that came back', () => {
  it('with its taints is told of', async () => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [GPU])]);
    await expectRecords(cluster, { n1: {} });
    cluster.remove('n1');
    cluster.register(onMachine('n1', [GPU], 'second'));
    await expectRecords(cluster, { n1: { uid: mark('second'), taints: [GPU] } });
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
    await expectRecords(cluster, { n1: { uid: mark('second'), taints: [GPU] } });
  });

  it.each([
    { why: 'within the retention', after: 23 * HOUR, machine: MACHINE, taints: [GPU] },
    { why: 'when they are over', after: 24 * HOUR, machine: MACHINE, taints: [] },
    { why: 'on another machine', after: HOUR, machine: machineMarks({ systemUUID: 'two' }), taints: [] },
  ])('while nobody led, $why, has $taints', async ({ after, machine, taints }) => {
    const cluster = startRepair({ p: spec() }, [onMachine('n1', [], 'second', machine), onMachine('n2', [GPU])], {
      stored: kept('n1', Date.now() - after),
    });
    await expect.poll(() => parseRecord(cluster.configMaps.entries().n2 ?? '')).toBeDefined();
    await expect.poll(() => cluster.taintsOf('n1')).toEqual(taints);
    await expectRecords(cluster, taints.length > 0 ? { n1: { taints }, n2: {} } : { n2: {} });
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
    await expectRecords(cluster, { n1: { taints: [], owed: { taints: [GPU] } } });
    expect(cluster.writes).toEqual([]);
    cluster.change('n1', { labels: { pool: 'gpu' } });
    await expect.poll(() => cluster.taintsOf('n1')).toEqual([GPU]);
    await expectRecords(cluster, { n1: { taints: [GPU] } });
  });
});
