import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { admit } from '../../../src/admission/admit.ts';
import { NONE_ESTABLISHED, parseRemembered, readsRecords } from '../../../src/judge/memory.ts';
import { additionRulings, isAdmitted, isForbidden } from '../../../src/judge/rulings.ts';
import { droppedTaints, formatTaint, sameTaint, type Taint, withTaints } from '../../../src/kubernetes/taint.ts';
import { isExploring } from '../../seed.ts';
import { listedBy, withEstablished } from '../judge/established.ts';
import { type NodeState, nodeCases, nodeCreation, nodeObject, nodeUpdate, toNodeCase, viewOf } from './node-cases.ts';

/** The nightly run has more of them. */
const RUNS = { numRuns: isExploring() ? 1_000 : 200 };

describe('a Node, whatever the policies,', () => {
  it('that changes a protected taint is remembered: what is protected, and carried or gone without leave', () => {
    const seen = { changed: 0, unchanged: 0, rejected: 0 };
    fc.assert(
      fc.property(nodeUpdate, (generated) => {
        const { before, after, user } = generated;
        const { request, compiled, records } = toNodeCase(generated);
        const admission = admit(request, compiled, records);
        if (admission.verdict === 'denied' || user.groups.includes('system:nodes')) return;
        const { taints, remembered } = viewOf(admission.object);
        const binding = compiled.taintPolicies.filter(readsRecords);
        const protects = (taint: Taint, ...nodes: NodeState[]) =>
          binding.some((policy) => policy.protectedBy(taint) && nodes.some(({ labels }) => policy.selectsNode(labels)));
        const isSettled = listedBy(before.remembered);
        const holds = (taint: Taint, settled: (taint: Taint) => boolean, ...nodes: NodeState[]) =>
          binding.some(
            (policy) => policy.heldBy(taint, settled) && nodes.some(({ labels }) => policy.selectsNode(labels)),
          );
        const changes =
          droppedTaints(before.taints, after.taints).some((taint) => holds(taint, isSettled, before, after)) ||
          droppedTaints(after.taints, before.taints).some((taint) => holds(taint, NONE_ESTABLISHED, after)) ||
          admission.violations.some(
            ({ outcome, mode }) => outcome === 'reverted' || (outcome === 'addition-exempt' && mode !== 'Audit'),
          );
        seen[changes ? 'changed' : 'unchanged']++;
        if (!changes) {
          expect(remembered).toBe(after.remembered);
          return;
        }

        const gone = droppedTaints(before.taints, taints).filter((taint) => holds(taint, isSettled, before, after));
        // Of two values for one taint, the last one counts.
        const listed = withTaints([], parseRemembered(after.remembered));
        // What nobody protects any more is for the leader to forget; it makes room for another value that is protected.
        const gives = (taint: Taint) =>
          !protects(taint, after) && taints.some((one) => sameTaint(one, taint) && holds(one, isSettled, after));
        const update = {
          ...({ operation: 'UPDATE', phase: 'mutate', requester: user } as const),
          node: viewOf(nodeObject(after)),
          oldNode: withEstablished(viewOf(nodeObject(before))),
        };
        const selecting = compiled.taintPolicies.filter((policy) =>
          [before, after].some(({ labels }) => policy.selectsNode(labels)),
        );
        const additions = additionRulings(update, selecting);
        const rejected = additions.filter(isForbidden);
        const admitted = additions.filter(isAdmitted).map(({ taint }) => taint);
        const isRejected = (taint: Taint) => rejected.some((one) => formatTaint(one.taint) === formatTaint(taint));
        const kept = listed.filter(
          (taint) =>
            ![...gone, ...admitted].some((one) => sameTaint(one, taint)) && !gives(taint) && !isRejected(taint),
        );
        if (listed.some(isRejected)) seen.rejected++;
        // Of those that only a wildcard means, none is new to the memory: that is the leader's work.
        const fresh = taints.filter(
          (taint) => holds(taint, isSettled, after) && !kept.some((one) => sameTaint(one, taint)),
        );
        const expected = [...kept, ...admitted, ...fresh].map(formatTaint);
        expect(new Set(parseRemembered(remembered).map(formatTaint))).toEqual(new Set(expected));
        expect(remembered).not.toBe('');
      }),
      RUNS,
    );
    expect(Math.min(seen.changed, seen.unchanged)).toBeGreaterThan(RUNS.numRuns / 20);
    expect(seen.rejected).toBeGreaterThan(0);
  });

  it("is not patched when it is a node's own update", () => {
    const user = { username: 'system:node:n1', groups: ['system:nodes'] };
    fc.assert(
      fc.property(nodeUpdate, (generated) => {
        const { request, compiled, records } = toNodeCase({ ...generated, user });
        expect(admit(request, compiled, records).patch).toEqual([]);
      }),
      RUNS,
    );
  });

  it('is not patched with every policy in Audit', () => {
    fc.assert(
      fc.property(nodeCases, (generated) => {
        const { request, compiled, records } = toNodeCase(generated, { audit: true });
        expect(admit(request, compiled, records).patch).toEqual([]);
      }),
      RUNS,
    );
  });

  it('of a new node is remembered: what is protected and carried, whatever the node says', () => {
    fc.assert(
      fc.property(nodeCreation, (generated) => {
        const { request, compiled, records } = toNodeCase(generated);
        const { labels, taints, remembered } = viewOf(admit(request, compiled, records).object);
        const binding = compiled.taintPolicies.filter(readsRecords);
        const selecting = binding.filter((policy) => policy.selectsNode(labels));
        const carried = taints.filter((taint) => selecting.some((policy) => policy.heldBy(taint, NONE_ESTABLISHED)));
        const memory = carried.length === 0 ? undefined : carried.map(formatTaint).join(', ');
        expect(remembered).toBe(binding.length === 0 ? generated.after.remembered : memory);
      }),
      RUNS,
    );
  });
});
