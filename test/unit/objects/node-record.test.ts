import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BLOCKED_REASONS, type NodeRecord, STARTUP_STATES } from '../../../src/judge/node-record.ts';
import { recordFields, viewRecord } from '../../../src/objects/node-record.ts';

const seconds = fc.integer({ min: 0, max: 4_000_000_000 }).map((time) => time * 1000);
const absentOr = <Key extends string, T>(key: Key, value: fc.Arbitrary<T>) =>
  fc.option(value, { nil: undefined }).map((found) => (found === undefined ? {} : { [key]: found }));

const taint = fc
  .tuple(
    fc.record({
      key: fc.string({ minLength: 1, maxLength: 63 }),
      value: fc.string({ maxLength: 63 }),
      effect: fc.constantFrom('NoSchedule', 'NoExecute', 'PreferNoSchedule'),
      policies: fc.array(fc.string({ maxLength: 253 }), { maxLength: 3 }),
    }),
    fc.oneof(absentOr('missingSince', seconds), absentOr('earlierDeletedAt', seconds), absentOr('removedAt', seconds)),
    absentOr('blocked', fc.record({ reason: fc.constantFrom(...BLOCKED_REASONS), message: fc.string() })),
  )
  .map(([fields, state, blocked]) => ({ ...fields, ...state, ...blocked }));

const startup = fc.record({
  key: fc.string({ minLength: 1, maxLength: 63 }),
  effect: fc.constant('NoSchedule'),
  state: fc.constantFrom(...STARTUP_STATES),
  policies: fc.array(fc.string({ maxLength: 253 }), { maxLength: 3 }),
  since: seconds,
});

const record: fc.Arbitrary<NodeRecord> = fc
  .tuple(
    fc.record({
      uid: fc.string(),
      machine: fc.record({ systemUUID: fc.string(), providerID: fc.string() }),
      taints: fc.array(taint, { maxLength: 5 }),
    }),
    absentOr('deletedAt', seconds),
    absentOr('startup', fc.array(startup, { minLength: 1, maxLength: 3 })),
  )
  .map(([fields, deleted, progress]) => ({ ...fields, ...deleted, ...progress }));

it('what was written of a record is what is read', () => {
  fc.assert(
    fc.property(record, (one) => {
      expect(viewRecord(JSON.parse(JSON.stringify(recordFields(one, undefined))))).toEqual(one);
    }),
  );
});

it('a merge patch removes what the record does not have', () => {
  const bare: NodeRecord = { uid: 'u', machine: { systemUUID: '', providerID: '' }, taints: [] };
  expect(recordFields(bare, null)).toEqual({
    node: { uid: 'u', providerID: null, systemUUID: null },
    nodeDeletionTime: null,
    taints: [],
    startupTaints: null,
  });
});

it.each([
  { why: 'no fields', object: {} },
  { why: 'a time that is none', object: { node: { uid: 'u' }, taints: [], nodeDeletionTime: 'yesterday' } },
  { why: 'a taint without a key', object: { node: { uid: 'u' }, taints: [{ effect: 'NoSchedule' }] } },
])('an object with $why is refused', ({ object }) => {
  expect(() => viewRecord(object)).toThrow();
});
