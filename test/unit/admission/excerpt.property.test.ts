import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import jsonPatch from 'fast-json-patch';
import { describe, expect, it } from 'vitest';
import { judge } from '../../../src/admission/admit.ts';
import { answer } from '../../../src/admission/response.ts';
import { decodeReview } from '../../../src/admission/review.ts';
import { MAX_COMPARED } from '../../../src/judge/node-changes.ts';
import { selectorLabels } from '../../../src/policy/policy-index.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { decisionsOn } from '../../fuzz/decisions.ts';
import { mutatedJson } from '../../fuzz/mutated.ts';
import { isExploring } from '../../seed.ts';
import { policySet } from '../policy/policies.ts';
import { nodeUpdateReview } from '../reviews.ts';
import { excerpt, taintsOf } from './excerpts.ts';

const REVIEWS = new URL('../../fuzz/reviews/', import.meta.url);
const recorded = readdirSync(REVIEWS).map((file): unknown => JSON.parse(readFileSync(new URL(file, REVIEWS), 'utf8')));

describe('an excerpt', () => {
  it.each<{ what: string; taint: Record<string, TaintPolicySpec> }>([
    {
      what: 'where many rules restrict its changes',
      taint: {
        restore: {
          mode: 'Restore',
          taints: [
            { key: 'k1', restrict: ['Removal', 'Addition'] },
            { key: 'k3', effect: 'NoSchedule', ensure: 'Always' },
          ],
        },
        deny: {
          mode: 'Deny',
          taints: [
            { key: 'k2', restrict: ['Removal'] },
            { key: 'm', restrict: ['Removal', 'Addition'] },
            { key: 'k*', restrict: ['Addition'] },
          ],
        },
        left: {
          mode: 'Deny',
          nodeSelector: { matchLabels: { a: '' } },
          taints: [{ key: 'k4', restrict: ['Removal', 'Unselection'] }],
        },
      },
    },
    {
      what: 'where an update may remove or add thousands',
      taint: {
        restore: { mode: 'Restore', taints: [{ key: 'k1', restrict: ['Removal'] }] },
        left: {
          mode: 'Deny',
          nodeSelector: { matchLabels: { a: '' } },
          taints: [{ key: 'k4', restrict: ['Unselection'] }],
        },
      },
    },
  ])(
    'leads to the answer that the whole review leads to, whatever an update makes of a list of taints, $what',
    (set) => {
      const policies = policySet({ taint: set.taint });
      const answers = (value: unknown) => {
        const decoded = decodeReview(value);
        if (!decoded.ok) throw new Error(decoded.message);
        const { request } = decoded;
        return (['mutate', 'validate'] as const).map((phase) => {
          const { decision, patch } = judge(request, phase, policies);
          // The patches may differ where a taint is listed twice: one replaces it by an equal one.
          const patched = jsonPatch.applyPatch(request.object, patch, true, false).newDocument;
          return {
            answer: answer(request.uid, { kind: 'Node', decision, patch: [] }),
            patched,
            isPatched: patch.length > 0,
          };
        });
      };
      const taint = fc.record({
        key: fc.constantFrom('k0', 'k1', 'k2', 'k3', 'k4', 'm', 'k10', 'é"'),
        value: fc.option(fc.constantFrom('', 'x'), { nil: undefined }),
        effect: fc.constantFrom('NoSchedule', 'NoExecute'),
        timeAdded: fc.option(fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'), { nil: undefined }),
      });
      const many = fc
        .oneof(fc.nat({ max: 300 }), fc.integer({ min: MAX_COMPARED - 3, max: MAX_COMPARED + 5 }))
        .map((count) => taintsOf('k', count));
      const list = fc.oneof(fc.array(taint, { maxLength: 8 }), many);
      const edit = fc.record({
        place: fc.nat(),
        removed: fc.constantFrom(0, 1, 2, MAX_COMPARED),
        added: fc.oneof(
          { arbitrary: fc.array(taint, { maxLength: 3 }), weight: 3 },
          fc.constant(taintsOf('n', MAX_COMPARED + 1)),
        ),
      });
      const reversed = fc.record({ from: fc.nat({ max: 8 }), count: fc.constantFrom(0, 0, 3, 2 * MAX_COMPARED) });
      const edited = (
        taints: readonly object[],
        edits: readonly { place: number; removed: number; added: object[] }[],
      ) =>
        edits.reduce<object[]>(
          (left, { place, removed, added }) => left.toSpliced(place % (left.length + 1), removed, ...added),
          [...taints],
        );
      const metadata = fc.record({
        labels: fc.constantFrom({}, { a: '' }),
        annotations: fc.constantFrom({}, { 'taintkeeper.dev/allow-removal': 'k1:NoSchedule, k2:NoSchedule' }),
      });
      fc.assert(
        fc.property(
          fc.record({
            before: list,
            edits: fc.array(edit, { maxLength: 3 }),
            reversed,
            metadata,
            oldMetadata: metadata,
          }),
          fc.constantFrom('UPDATE', 'CREATE'),
          fc.boolean(),
          ({ before, edits, reversed: turned, metadata: now, oldMetadata }, operation, isOldFirst) => {
            const changed = edited(before, edits);
            const part = changed.slice(turned.from, turned.from + turned.count).toReversed();
            const taints = changed.toSpliced(turned.from, part.length, ...part);
            const object = { metadata: { name: 'n', ...now }, spec: { taints } };
            const old = { metadata: { name: 'n', ...oldMetadata }, spec: { taints: before } };
            const oldObject = operation === 'CREATE' ? null : old;
            const { request, ...review } = nodeUpdateReview([], [], { operation });
            const { object: _, oldObject: __, ...rest } = request;
            const objects = isOldFirst ? { oldObject, object } : { object, oldObject };
            const whole = { ...review, request: { ...rest, ...objects } };
            const cut = answers(excerpt(whole, selectorLabels(policies)));
            const uncut = answers(JSON.parse(JSON.stringify(whole)));
            for (const [place, one] of cut.entries()) {
              const other = uncut[place];
              expect(one.answer).toEqual(other?.answer);
              if (one.isPatched || other?.isPatched) expect(one.patched).toEqual(other?.patched);
            }
          },
        ),
        { numRuns: isExploring() ? 200 : 50 },
      );
    },
  );

  it('leads to the decision that the whole review leads to', () => {
    const policies = policySet({
      taint: {
        all: { mode: 'Restore', taints: [{ key: '*', restrict: ['Removal'] }] },
        some: {
          mode: 'Deny',
          nodeSelector: { matchLabels: { 'kubernetes.io/os': 'linux' } },
          taints: [{ key: '*', restrict: ['Removal'] }],
        },
      },
      toleration: {
        all: { mode: 'Mutate', daemonSets: { namespaces: ['*'] } },
        some: { mode: 'Audit', daemonSets: { namespaces: ['*'], selector: { matchLabels: { app: 'flannel' } } } },
      },
    });
    const labels = selectorLabels(policies);
    fc.assert(
      fc.property(mutatedJson(recorded), (review) => {
        expect(decisionsOn(excerpt(review, labels), policies)).toEqual(decisionsOn(review, policies));
      }),
      { numRuns: isExploring() ? 500 : 150 },
    );
  });
});
