import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NodeRecord } from '../../../src/judge/node-return.ts';
import { TAINT_EFFECTS } from '../../../src/kubernetes/taint.ts';
import { mark } from '../../../src/kubernetes/text.ts';
import { fitRecords, formatRecord, parseRecord } from '../../../src/objects/node-record.ts';

const MIB = 1_048_576;
const RECORD: NodeRecord = {
  uid: mark('uid'),
  machine: { system: mark('system'), provider: '' },
  taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }],
};

const taint = fc.record({
  key: fc.stringMatching(/^[a-z]{1,20}(\.com\/[a-z]{1,9})?$/),
  value: fc.stringMatching(/^[a-z0-9]{0,12}$/),
  effect: fc.constantFrom(...TAINT_EFFECTS),
});
const taints = fc.uniqueArray(taint, { selector: ({ key, effect }) => `${key}:${effect}`, maxLength: 8 });
const time = fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => seconds * 1000);
const marks = fc.string().map(mark);
const record: fc.Arbitrary<NodeRecord> = fc
  .record(
    {
      uid: marks,
      machine: fc.record({ system: marks, provider: marks }),
      taints,
      deletedAt: time,
      owed: fc.record({ taints, since: time }),
    },
    { requiredKeys: ['uid', 'machine', 'taints'], noNullPrototype: true },
  )
  .map((one) => structuredClone(one));

describe('a record as text', () => {
  it('says all that it is made of, and nothing else can be read from it', () => {
    fc.assert(
      fc.property(record, (one) => {
        expect(parseRecord(formatRecord(one))).toEqual(one);
      }),
    );
  });

  it('is short, and to be read by people', () => {
    expect(formatRecord({ ...RECORD, deletedAt: Date.parse('2026-11-22T12:00:00Z') })).toMatch(
      /^\{"uid":"\w{8}","machine":"\w{8}\/","taints":"dedicated=gpu:NoSchedule","deletedAt":"2026-11-22T12:00:00Z"\}$/,
    );
  });

  it.each([
    ['no JSON', '{"uid":'],
    ['nothing', ''],
    ['null', 'null'],
    ['another thing', '{"replicas":2}'],
    ['another type', '{"uid":1,"machine":"/","taints":"a:NoSchedule"}'],
    ['no time', '{"uid":"a","machine":"/","taints":"a:NoSchedule","deletedAt":"yesterday"}'],
  ])('that is %s is none', (_, text) => {
    expect(parseRecord(text)).toBeUndefined();
  });

  it('that is made of anything is a record or none, and no error', () => {
    fc.assert(fc.property(fc.oneof(fc.json(), fc.string()), (text) => void parseRecord(text)));
  });

  it('leaves taints out that would make it long', () => {
    const many = Array.from({ length: 64 }, (_, index) => ({
      key: `${'k'.repeat(200)}${index}`,
      value: '',
      effect: 'NoSchedule',
    }));
    const text = formatRecord({ ...RECORD, taints: many });
    expect(text.length).toBeLessThan(2_300);
    expect(parseRecord(text)?.taints).toEqual(many.slice(0, 9));
  });
});

describe('all records together', () => {
  const cluster = (count: number, more: (index: number) => Partial<NodeRecord> = () => ({})) =>
    new Map(
      Array.from({ length: count }, (_, index) => [
        `ip-10-0-${String(index).padStart(5, '0')}.eu-central-1.compute.internal`,
        { ...RECORD, machine: { system: mark(`s${index}`), provider: mark(`p${index}`) }, ...more(index) },
      ]),
    );
  const bytes = (texts: ReadonlyMap<string, string>) => [...texts.values()].join('').length;
  const bytesInEtcd = (texts: ReadonlyMap<string, string>) => bytes(texts) + 2 * [...texts.keys()].join('').length;

  it('have room for 5,000 nodes', () => {
    const taints = [...RECORD.taints, { key: 'example.com/other', value: '', effect: 'NoExecute' }];
    const { texts, left } = fitRecords(
      cluster(5_000, () => ({ taints })),
      new Map(),
    );
    expect(texts.size).toBe(5_000);
    expect(left).toEqual({ present: [], deleted: [] });
  });

  it('never take more than a ConfigMap may, names and managed fields included', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20_000 }), taints, (count, carried) => {
        const { texts } = fitRecords(
          cluster(count, () => ({ taints: carried })),
          new Map(),
        );
        expect(bytes(texts)).toBeLessThan(MIB);
        expect(bytesInEtcd(texts)).toBeLessThan(1.2 * MIB);
      }),
      { numRuns: 8 },
    );
  });

  it('are without those that were deleted longest ago where there is no room', () => {
    const records = cluster(9_000, (index) => (index < 4_000 ? { deletedAt: index * 1000 } : {}));
    const { texts, left } = fitRecords(records, new Map());
    expect(left.present).toEqual([]);
    const names = [...records.keys()];
    expect(left.deleted.toSorted()).toEqual(names.slice(0, left.deleted.length));
    expect(texts.size + left.deleted.length).toBe(9_000);
    expect(left.deleted.length).toBeGreaterThan(2_000);
  });

  it('keep the nodes that are there already where those alone are too many', () => {
    const records = cluster(9_000);
    const last = [...records.keys()].slice(-100);
    const stored = new Map(last.map((name) => [name, 'x']));
    const { texts, left } = fitRecords(records, stored);
    expect(last.filter((name) => !texts.has(name))).toEqual([]);
    expect(left.present.length).toBeGreaterThan(2_000);
  });

  it('leave room for what somebody else put there', () => {
    const { texts } = fitRecords(cluster(5_000), new Map(), new Map([['config.yaml', 'x'.repeat(900_000)]]));
    expect(bytes(texts)).toBeLessThan(100_000);
  });
});
