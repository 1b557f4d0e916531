import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { admit } from '../../../src/admission/admit.ts';
import {
  isRemovalAllowed,
  isRemovalNoted,
  parseAllowedRemovals,
  readsAllowRemoval,
  unreadableEntries,
} from '../../../src/judge/allow-removal.ts';
import { establishedIn } from '../../../src/judge/node-record.ts';
import { removedTaints, type Taint } from '../../../src/kubernetes/taint.ts';
import { nodeCases, nodeCreation, nodeUpdate, toNodeCase, viewOf } from './node-cases.ts';

const RUNS = { numRuns: 500 };

describe('the annotation allow-removal, whatever the policies,', () => {
  it('has a notice of each taint that an update removes with permission, and no announcement of it any more', () => {
    let removed = 0;
    fc.assert(
      fc.property(nodeUpdate, (generated) => {
        const { before, after, record, user } = generated;
        const { request, compiled, records } = toNodeCase(generated);
        const admission = admit(request, compiled, records);
        if (admission.result === 'denied' || user.groups.includes('system:nodes')) return;
        const { taints, allowRemoval } = viewOf(admission.object);
        const allowed = parseAllowedRemovals(allowRemoval);
        const isEstablished = establishedIn(record);
        const isProtected = (taint: Taint) =>
          compiled.taintPolicies.some(
            (policy) =>
              policy.mode !== 'Audit' &&
              [before, after].some(({ labels }) => policy.selectsNode(labels)) &&
              policy.removalRestrictedBy(taint, isEstablished) !== undefined,
          );
        for (const taint of removedTaints(before.taints, taints).filter(isProtected)) {
          removed++;
          expect([isRemovalNoted(allowed, taint), isRemovalAllowed(allowed, taint)]).toEqual([true, false]);
        }
        // What cannot be read is left to its author.
        expect(unreadableEntries(allowed)).toEqual(unreadableEntries(parseAllowedRemovals(after.allowRemoval)));
      }),
      RUNS,
    );
    expect(removed).toBeGreaterThan(RUNS.numRuns / 50);
  });

  it('of a new node is deleted, unless no policy reads it', () => {
    const seen = { deleted: 0, kept: 0 };
    fc.assert(
      fc.property(nodeCreation, (generated) => {
        const { request, compiled, records } = toNodeCase(generated);
        const { allowRemoval } = viewOf(admit(request, compiled, records).object);
        const isRead = compiled.taintPolicies.some(readsAllowRemoval);
        expect(allowRemoval).toBe(isRead ? undefined : generated.after.allowRemoval);
        if (generated.after.allowRemoval !== undefined) seen[isRead ? 'deleted' : 'kept']++;
      }),
      RUNS,
    );
    expect(Math.min(seen.deleted, seen.kept)).toBeGreaterThan(RUNS.numRuns / 20);
  });
});

describe('a Node, whatever the policies,', () => {
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
});
