import fc from 'fast-check';
import * as Format from 'typebox/format';
import * as Value from 'typebox/value';
import { expect, it } from 'vitest';
import { nextPolicyStatus, type StatusInput } from '../../../../src/policy/reporting/next-policy-status.ts';
import { type PatchedDaemonSet, PolicyStatusSchema } from '../../../../src/policy/reporting/policy-status.ts';
import type { ReportedCondition } from '../../../../src/policy/reporting/status-conditions.ts';
import { seed } from '../../../seed.ts';

/** etcd refuses an object above 1.5 MiB, and the spec needs some of that. */
const MAX_BYTES = 1_048_576;

/** Short ones, and some of those that a user can write into an annotation. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc
    .tuple(fc.string({ unit: 'grapheme', minLength: 1 }), fc.integer({ min: 1, max: 20_000 }))
    .map(([part, times]) => part.repeat(times).slice(0, 50_000).toWellFormed()),
);
const many = <T>(item: fc.Arbitrary<T>, max = 40) =>
  fc.oneof(
    fc.array(item, { maxLength: 4 }),
    fc.tuple(item, fc.integer({ min: 1, max })).map(([one, times]) => Array<T>(times).fill(one)),
  );

const reported: fc.Arbitrary<ReportedCondition> = fc.record({
  type: fc.constantFrom('Ready', 'Stalled', 'Backstop'),
  status: fc.constantFrom('True', 'False', 'Unknown'),
  reason: fc.constant('Reason'),
  message: text,
}) as fc.Arbitrary<never>;

const patched: fc.Arbitrary<PatchedDaemonSet> = fc.record(
  { namespace: text, name: text, uid: text, tolerations: many(text, 300), installation: text },
  { requiredKeys: ['namespace', 'name', 'uid', 'tolerations'] },
);

const problem = fc.record({ path: fc.constant(['spec', 'taints', 0]), message: text });
const generation = fc.nat();

const input: fc.Arbitrary<StatusInput> = fc.record({
  kind: fc.constantFrom('TaintPolicy', 'TolerationPolicy', 'TolerationRestriction', 'RecoveryPolicy'),
  before: fc.constant(undefined),
  generation,
  problems: many(problem),
  inForce: fc.option(fc.record({ generation }), { nil: undefined }),
  mode: fc.constantFrom('Deny', 'Restore', 'Audit', undefined),
  audit: fc.boolean(),
  notes: many(text),
  reported: many(reported),
  patched: many(patched, 400),
  findings: fc.option(fc.record({ matched: fc.nat(), violators: many(text, 100) }), { nil: undefined }),
  now: fc.date({ min: new Date('2026-01-01'), max: new Date('2100-01-01'), noInvalidDate: true }),
});

it('the API server accepts every status: it is valid by the schema, and fits into etcd', () => {
  expect(Format.Has('date-time')).toBe(true);
  fc.assert(
    fc.property(input, (found) => {
      const status = nextPolicyStatus(found);
      expect(Value.Errors(PolicyStatusSchema, status)).toEqual([]);
      expect(Buffer.byteLength(JSON.stringify(status))).toBeLessThan(MAX_BYTES);
      // Otherwise it would be written again and again.
      expect(nextPolicyStatus({ ...found, before: status, now: new Date('2101-01-01') })).toEqual(status);
    }),
    { seed: seed(), numRuns: 100 },
  );
});
