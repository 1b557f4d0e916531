import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { simulateAdmission } from '../../../src/admission/simulate-admission.ts';
import {
  clearsEntriesAtRegistration,
  parseAllowedRemovals,
  unreadableEntries,
} from '../../../src/judge/allow-removal.ts';
import { formatTaint } from '../../../src/kubernetes/taint.ts';
import { nodeCases, nodeCreation, nodeUpdate, toNodeCase, viewOf } from './node-cases.ts';

const RUNS = { numRuns: 500 };

describe('with any policies, the annotation allow-removal', () => {
  it('has no entry of a protected taint that an update sets, and keeps what cannot be read', () => {
    let ended = 0;
    fc.assert(
      fc.property(nodeUpdate, (generated) => {
        const { before, after, user } = generated;
        const { request, compiled } = toNodeCase(generated);
        const admission = simulateAdmission(request, compiled);
        if (admission.result === 'denied' || user.groups.includes('system:nodes')) return;
        const allowed = parseAllowedRemovals(viewOf(admission.object).allowRemoval);
        const had = new Set(before.taints.map(formatTaint));
        const selecting = compiled.taintPolicies.filter(
          (policy) => policy.mode !== 'Audit' && [before, after].some(({ labels }) => policy.selectsNode(labels)),
        );
        for (const taint of after.taints.filter((one) => !had.has(formatTaint(one)))) {
          if (!selecting.some((policy) => policy.protectingRule(taint) !== undefined)) continue;
          if (parseAllowedRemovals(after.allowRemoval).taints.has(formatTaint(taint))) ended++;
          expect(allowed.taints.has(formatTaint(taint))).toBe(false);
        }
        expect(unreadableEntries(allowed)).toEqual(unreadableEntries(parseAllowedRemovals(after.allowRemoval)));
      }),
      RUNS,
    );
    expect(ended).toBeGreaterThan(0);
  });

  it('of a new node is deleted, unless no policy clears it', () => {
    const seen = { deleted: 0, kept: 0 };
    fc.assert(
      fc.property(nodeCreation, (generated) => {
        const { request, compiled } = toNodeCase(generated);
        const { allowRemoval } = viewOf(simulateAdmission(request, compiled).object);
        const isCleared = compiled.taintPolicies.some(clearsEntriesAtRegistration);
        expect(allowRemoval).toBe(isCleared ? undefined : generated.after.allowRemoval);
        if (generated.after.allowRemoval !== undefined) seen[isCleared ? 'deleted' : 'kept']++;
      }),
      RUNS,
    );
    expect(Math.min(seen.deleted, seen.kept)).toBeGreaterThan(RUNS.numRuns / 20);
  });
});

describe('with any policies, a Node', () => {
  it("is not patched when it is a node's own update", () => {
    const user = { username: 'system:node:n1', groups: ['system:nodes'] };
    fc.assert(
      fc.property(nodeUpdate, (generated) => {
        const { request, compiled } = toNodeCase({ ...generated, user });
        expect(simulateAdmission(request, compiled).patch).toEqual([]);
      }),
      RUNS,
    );
  });

  it('is not patched with every policy in Audit', () => {
    fc.assert(
      fc.property(nodeCases, (generated) => {
        const { request, compiled } = toNodeCase(generated, { audit: true });
        expect(simulateAdmission(request, compiled).patch).toEqual([]);
      }),
      RUNS,
    );
  });
});
