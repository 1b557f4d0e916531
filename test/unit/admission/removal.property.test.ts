import fc from 'fast-check';
import { expect, it } from 'vitest';
import { admit } from '../../../src/admission/admit.ts';
import type { Violation } from '../../../src/judge/decision.ts';
import { readsRecords } from '../../../src/judge/memory.ts';
import { isRequiredTaint, parseRemoved, requiredTaints, satisfies } from '../../../src/judge/removal.ts';
import type { StringMap } from '../../../src/kubernetes/label-selector.ts';
import { formatTaint, identity, parseTaint, type Taint, valuesOf } from '../../../src/kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../../src/policy/policy-set.ts';
import { driftAmong } from '../judge/node-drifts.ts';
import { nodeCreation, nodeUpdate, toNodeCase, viewOf } from './node-cases.ts';

const RUNS = { numRuns: 1_000 };

/** Whether a node with these labels and taints does without it, though the policy declares it Present. */
function doesWithout(policy: CompiledTaintPolicy, labels: StringMap, taints: readonly Taint[], one: Taint) {
  const values = valuesOf(taints);
  return requiredTaints(labels, [policy]).some((want) => isRequiredTaint(one, want) && !satisfies(values, want));
}

function identityOf({ subject }: Violation): string {
  const taint = parseTaint(subject);
  return taint ? identity(taint) : subject;
}

it('a required taint that somebody exempt removes is recorded, and the leader does not put it back on behalf of who exempts', () => {
  const seen = { recorded: 0, ended: 0 };
  fc.assert(
    fc.property(nodeUpdate, (generated) => {
      const { request, compiled } = toNodeCase(generated);
      const admission = admit(request, compiled);
      if (admission.verdict === 'denied' || generated.user.groups.includes('system:nodes')) return;
      const node = viewOf(admission.object);
      const { labels, taints } = node;
      const gone = admission.violations
        .filter(({ outcome, mode }) => outcome === 'exempt' && mode !== 'Audit')
        .flatMap(({ policy, subject }) => {
          const by = compiled.taintPolicies.find(({ name }) => name === policy);
          const taint = parseTaint(subject);
          return by && taint && doesWithout(by, labels, taints, { ...taint, value: taint.value ?? '' })
            ? [subject]
            : [];
        });
      const listed = parseRemoved(generated.after.removed).map(formatTaint);
      const record = parseRemoved(node.removed).map(formatTaint);
      expect(record).toEqual(expect.arrayContaining(gone));
      // A guarded taint that is taken out again stays out, also where the request has it no longer listed.
      const takenOut = new Set(admission.violations.filter(({ outcome }) => outcome === 'reverted').map(identityOf));
      const kept = parseRemoved(generated.before.removed).filter((taint) => takenOut.has(identity(taint)));
      expect([...listed, ...gone, ...kept.map(formatTaint)]).toEqual(expect.arrayContaining(record));
      expect(node.removed).toBe(
        admission.patch.length === 0 || node.removed === generated.after.removed
          ? generated.after.removed
          : record.length === 0
            ? undefined
            : record.join(', '),
      );

      const drift = driftAmong(node, compiled.taintPolicies);
      const missing = drift.losses.filter(({ policy }) => policy.exemptsAnybody).map(({ taint }) => formatTaint(taint));
      const declared = compiled.taintPolicies.filter(({ exemptsAnybody }) => !exemptsAnybody);
      for (const subject of gone) {
        const isWantedByOthers = drift.losses.some(({ policy }) => declared.includes(policy));
        if (!isWantedByOthers) expect(missing).not.toContain(subject);
      }
      // What the node carries, the leader takes off the list, if admission has not.
      const tidy = parseRemoved((drift.desired ?? node).removed).map(formatTaint);
      for (const text of tidy) expect(taints.map(formatTaint)).not.toContain(text);
      if (gone.length > 0) seen.recorded++;
      if (listed.some((text) => !record.includes(text))) seen.ended++;
    }),
    RUNS,
  );
  expect(Math.min(seen.recorded, seen.ended)).toBeGreaterThan(RUNS.numRuns / 200);
});

it('of a new node nothing is recorded, whatever it says of itself, unless all policies only watch', () => {
  fc.assert(
    fc.property(nodeCreation, (generated) => {
      const { request, compiled } = toNodeCase(generated);
      const isWatched = !compiled.taintPolicies.some(readsRecords);
      const { removed } = viewOf(admit(request, compiled).object);
      expect(removed).toBe(isWatched ? generated.after.removed : undefined);
    }),
    RUNS,
  );
});
