import fc from 'fast-check';
import { expect, it } from 'vitest';
import { establishedIn, MAX_RECORDED_TAINTS, type NodeRecord } from '../../../src/judge/node-record.ts';
import { retainedTaints } from '../../../src/judge/node-return.ts';
import { FORGET_LOST_MS, nextRecord, type RecordedNode } from '../../../src/judge/record-keeping.ts';
import type { Machine } from '../../../src/kubernetes/machine.ts';
import { formatTaint, identity, type Taint } from '../../../src/kubernetes/taint.ts';
import { recordFields, viewRecord } from '../../../src/objects/node-record.ts';
import { ONCE_ESTABLISHED, type PolicySet } from '../../../src/policy/policy-set.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';
import { nodeOf } from './recorded-nodes.ts';

const HOUR = 3_600_000;
const RETENTION_MS = 24 * HOUR;

const taint: fc.Arbitrary<Taint> = fc.record({
  key: fc.constantFrom('a', 'b', 'example.com/c', 'free'),
  value: fc.constantFrom('', 'x', 'y'),
  effect: fc.constantFrom('NoSchedule', 'NoExecute'),
});
const taints = fc.uniqueArray(taint, { selector: identity, maxLength: 5 });
const machine: fc.Arbitrary<Machine> = fc.record({
  systemUUID: fc.constantFrom('', 'one', 'two'),
  providerID: fc.constantFrom('', 'p'),
});
const node = fc.record({
  uid: fc.constantFrom('first', 'second', 'third'),
  pool: fc.constantFrom('gpu', 'cpu'),
  taints,
  established: taints,
  allowRemoval: fc.option(taints, { nil: undefined }),
  inOneStep: taints,
  machine,
});

type SeenNode = typeof node extends fc.Arbitrary<infer Seen> ? Seen : never;

const REQUIRED: Taint = { key: 'b', effect: 'NoSchedule' };
const REQUIRING: TaintPolicySpec = {
  mode: 'Restore',
  taints: [{ key: 'b', effect: 'NoSchedule', ensure: 'Always' }],
};

/** What a leader sees next: a node, or none, and the time that has gone by. */
const step = fc.record({
  node: fc.option(node, { nil: undefined }),
  afterMs: fc.integer({ min: 0, max: 30 * HOUR }),
  policies: fc.constantFrom<PolicySet>(
    policySet({}),
    policySet({ taint: { p: protecting('a'), q: protecting('*') } }),
    policySet({ taint: { p: protecting('a'), s: REQUIRING } }),
    policySet({ taint: { p: protecting('a', 'gpu'), r: protecting('example.com/*', 'cpu') } }),
  ),
  policiesUnchangedMs: fc.constantFrom(undefined, 0, FORGET_LOST_MS, HOUR),
  labelsUnchangedMs: fc.constantFrom(0, FORGET_LOST_MS),
});

function protecting(key: string, pool?: string) {
  return {
    mode: 'Restore' as const,
    taints: [{ key, restrict: ['Removal'] as const }],
    deletedNodeRetentionSeconds: RETENTION_MS / 1000,
    ...(pool === undefined ? {} : { nodeSelector: { matchLabels: { pool } } }),
  };
}

function asRecorded({ pool, established, allowRemoval, ...node }: SeenNode, labelsUnchangedMs: number): RecordedNode {
  return nodeOf({
    ...node,
    labels: { pool },
    labelsUnchangedMs,
    established: established.map(formatTaint).join(),
    ...(allowRemoval === undefined ? {} : { allowRemoval: allowRemoval.map(formatTaint).join() }),
  });
}

/** What the record lists is established, as {@link establishment} has it. */
function withListed(node: RecordedNode, record: NodeRecord | undefined): RecordedNode {
  if (record?.uid !== node.uid) return node;
  const isListed = establishedIn(record);
  return { ...node, established: (taint) => isListed(taint) || node.established(taint) };
}

/** Whether the step forgot a taint. */
function forgets(before: NodeRecord | undefined, after: NodeRecord | undefined): boolean {
  const listed = new Set((after?.taints ?? []).map(identity));
  return (before?.taints ?? []).some((taint) => !listed.has(identity(taint)));
}

/** As a leader reads it that has just begun. */
function stored(record: NodeRecord | undefined): NodeRecord | undefined {
  return record && viewRecord(JSON.parse(JSON.stringify(recordFields(record, undefined))));
}

it('a record is what the API server takes, is written only for a change, and says to the next leader what it said to this one', () => {
  const numRuns = 500;
  let returned = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      let now = Date.parse('2026-11-22T12:00:00.250Z');
      let record: NodeRecord | undefined;
      let known = new Map<string, Taint>();
      for (const { node, afterMs, policies, policiesUnchangedMs, labelsUnchangedMs } of steps) {
        now += afterMs;
        const keeping = { policies: policies.taintPolicies, now, policiesUnchangedMs };
        const seen = node && withListed(asRecorded(node, labelsUnchangedMs), record);
        const next = nextRecord(record, seen, keeping);

        // A restart between any two steps makes no difference.
        expect(nextRecord(stored(record), seen, keeping)).toEqual(next);
        expect(stored(next)).toEqual(next);
        // What is seen again is no change. Only a step that forgets a taint may be followed by one more, which finds another value of it.
        const again = nextRecord(next, seen, keeping);
        if (forgets(record, next)) expect(nextRecord(again, seen, keeping)).toEqual(again);
        else expect(again).toEqual(next);

        const recorded = next?.taints ?? [];
        expect(new Set(recorded.map(identity)).size).toBe(recorded.length);
        expect(recorded.length).toBeLessThanOrEqual(MAX_RECORDED_TAINTS);
        // Nothing is recorded that neither the node had nor the record before, but a required taint that was removed.
        const sources = new Map(known);
        if (recorded.some(({ removedAt }) => removedAt !== undefined)) sources.set('b:NoSchedule', REQUIRED);
        for (const one of seen?.taints ?? []) sources.set(formatTaint(one), one);
        for (const one of recorded) {
          expect([...sources.keys()]).toContain(formatTaint(one));
          if (one.removedAt !== undefined) expect(identity(one)).toBe(identity(REQUIRED));
        }
        // Nothing comes back that no policy protects, and nothing once the retention is over.
        if (next && seen) {
          for (const { policy, taint } of retainedTaints(next, seen, policies.taintPolicies, now)) {
            expect(policy.removalRestrictedBy(taint, ONCE_ESTABLISHED)).toBeDefined();
            const deletedAt = recorded.find((one) => identity(one) === identity(taint))?.earlierDeletedAt;
            if (deletedAt === undefined) continue;
            expect(now - deletedAt).toBeLessThan(RETENTION_MS);
            returned++;
          }
        }
        // A taint that only a policy without retention protects stays for a moment: the policy that retained it may be about to come back.
        const isSettled = (policiesUnchangedMs ?? 0) >= FORGET_LOST_MS;
        const isAskedFor = policies.taintPolicies.some(
          ({ deletedNodeRetentionMs, removalRestrictedBy }) =>
            (isSettled || deletedNodeRetentionMs !== undefined) &&
            recorded.some((one) => removalRestrictedBy(one, ONCE_ESTABLISHED)),
        );
        if (next?.deletedAt !== undefined && (policiesUnchangedMs === HOUR || isAskedFor)) {
          expect(now - next.deletedAt).toBeLessThan(RETENTION_MS);
        }
        record = next;
        known = new Map(recorded.map((one) => [formatTaint(one), one]));
      }
    }),
    { numRuns },
  );
  expect(returned).toBeGreaterThan(numRuns / 10);
});
