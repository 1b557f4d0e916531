import fc from 'fast-check';
import jsonPatch from 'fast-json-patch';
import { describe, expect, it } from 'vitest';
import { admit, judge } from '../../../src/admission/admit.ts';
import type { DesiredDaemonSet } from '../../../src/judge/daemon-set.ts';
import type { Decision } from '../../../src/judge/decision.ts';
import { isRequiredTaint, requiredTaints, satisfies } from '../../../src/judge/declared-taints.ts';
import { establishedIn } from '../../../src/judge/node-record.ts';
import type { DesiredNode } from '../../../src/judge/node-view.ts';
import {
  formatTaint,
  identity,
  removedTaints,
  sameTaint,
  type Taint,
  valuesOf,
} from '../../../src/kubernetes/taint.ts';
import { asDaemonSet, viewDaemonSet } from '../../../src/objects/daemon-set-object.ts';
import { policySet } from '../policy/policies.ts';
import * as generate from './generators.ts';
import {
  type NodeObject,
  nodeCases,
  nodeCreation,
  nodeObject,
  nodeUpdate,
  rest,
  toNodeCase,
  viewOf,
} from './node-cases.ts';
import { daemonSetRequest } from './requests.ts';

const RUNS = { numRuns: 500 };
/** For what one case in fifty shows. */
const MORE_RUNS = { numRuns: 1_000 };

describe('a Node request, whatever the policies', () => {
  it('is patched into exactly what was decided, and nothing else of it changes', () => {
    fc.assert(
      fc.property(nodeCases, (generated) => {
        const { request, compiled, records } = toNodeCase(generated);
        const { decision, patch } = judge(request, 'mutate', compiled, records);
        const patched = jsonPatch.applyPatch(request.object, [...patch], true, false).newDocument;
        const view = viewOf(patched);
        if (decision.action === 'patch') {
          const desired = (decision as Decision<DesiredNode> & { action: 'patch' }).desired;
          const { taints, allowRemoval } = desired;
          expect(view).toMatchObject({ taints, allowRemoval });
        } else {
          expect(patch).toEqual([]);
        }
        expect(rest(patched as NodeObject)).toEqual(rest(nodeObject(generated.after)));
      }),
      RUNS,
    );
  });

  it('needs no second patch', () => {
    fc.assert(
      fc.property(nodeCases, (generated) => {
        const { request, compiled, records } = toNodeCase(generated);
        const { object } = admit(request, compiled, records);
        expect(judge({ ...request, object }, 'mutate', compiled, records).patch).toEqual([]);
      }),
      RUNS,
    );
  });

  it('is decided alike with and without a backstop', () => {
    fc.assert(
      fc.property(nodeCases, ({ policies, ...generated }) => {
        const [backed, bare] = (['Native', 'None'] as const).map((backstop) => {
          const all = Object.entries(policies).map(([name, spec]) => [name, { ...spec, backstop }]);
          const { request, compiled, records } = toNodeCase({
            ...generated,
            policies: Object.fromEntries(all),
          });
          return admit(request, compiled, records);
        });
        expect(backed).toEqual(bare);
      }),
      RUNS,
    );
  });

  it('never ends with two taints of one key and effect', () => {
    fc.assert(
      fc.property(nodeCases, (generated) => {
        const { request, compiled, records } = toNodeCase(generated);
        const { taints } = viewOf(admit(request, compiled, records).object);
        expect(new Set(taints.map(({ key, effect }) => `${key}:${effect}`)).size).toBe(taints.length);
      }),
      RUNS,
    );
  });

  it("keeps the requester's taints, in their order, except restricted ones; only a protected or a restricted value may change back", () => {
    let without = 0;
    fc.assert(
      fc.property(nodeUpdate, (generated) => {
        const { before, after, user } = generated;
        const { request, compiled, records } = toNodeCase(generated);
        const { taints } = viewOf(admit(request, compiled, records).object);
        const carries = (list: readonly Taint[]) => (taint: Taint) => list.some((one) => sameTaint(one, taint));
        const kept = after.taints.filter(carries(taints));
        expect(taints.slice(0, kept.length).map(identity)).toEqual(kept.map(identity));
        kept.forEach((asked, index) => {
          const stored = before.taints.find((old) => sameTaint(old, asked));
          const [text, ...possible] = [taints[index], asked, stored].map((one) => one && formatTaint(one));
          expect(possible).toContain(text);
        });
        for (const taint of after.taints.filter((one) => !carries(taints)(one))) {
          without++;
          expect(carries(before.taints)(taint)).toBe(false);
          const guarding = compiled.taintPolicies.filter(
            (policy) => policy.additionRestrictedBy(taint) && !policy.exempts(user) && policy.mode === 'Restore',
          );
          expect(guarding).not.toEqual([]);
        }
      }),
      MORE_RUNS,
    );
    expect(without).toBeGreaterThan(MORE_RUNS.numRuns / 200);
  });

  it('that is allowed adds a restricted taint only if required or recorded, by exemption, or in mode Audit', () => {
    const seen = { taken: 0, required: 0 };
    fc.assert(
      fc.property(nodeUpdate, (generated) => {
        const { before, after, record, user } = generated;
        const { request, compiled, records } = toNodeCase(generated);
        const admission = admit(request, compiled, records);
        if (admission.result === 'denied') return;
        const { taints } = viewOf(admission.object);
        const carried = valuesOf(before.taints);
        const lacking = requiredTaints(after.labels, compiled.taintPolicies).filter((one) => !satisfies(carried, one));
        const isRecorded = establishedIn(record);
        for (const taint of removedTaints(taints, before.taints)) {
          for (const policy of compiled.taintPolicies) {
            const selected = policy.selectsNode(before.labels) || policy.selectsNode(after.labels);
            if (!selected || !policy.additionRestrictedBy(taint) || policy.mode === 'Audit') continue;
            if (policy.exempts(user)) continue;
            seen.required++;
            expect(isRecorded(taint) || lacking.some((one) => isRequiredTaint(taint, one))).toBe(true);
          }
        }
        if (admission.violations.some(({ outcome }) => outcome === 'reverted')) seen.taken++;
      }),
      MORE_RUNS,
    );
    expect(Math.min(seen.taken, seen.required)).toBeGreaterThan(MORE_RUNS.numRuns / 200);
  });

  it('that is let through does not take a taint out of a policy that restricts that', () => {
    let left = 0;
    fc.assert(
      fc.property(nodeUpdate, (generated) => {
        const { before, after, user } = generated;
        const { request, compiled, records } = toNodeCase(generated);
        const admission = admit(request, compiled, records);
        const { taints } = viewOf(admission.object);
        for (const policy of compiled.taintPolicies) {
          if (policy.mode === 'Audit' || policy.exempts(user)) continue;
          if (!policy.selectsNode(before.labels) || policy.selectsNode(after.labels)) continue;
          const held = taints.filter((taint) => policy.unselectionRestrictedBy(taint) !== undefined);
          const isRemovalAllowed = (taint: Taint) =>
            policy.allowsRemovalByAnnotation && before.allowRemoval?.includes(taint.key);
          if (held.length === 0) continue;
          left++;
          if (admission.result !== 'denied') expect(held.every(isRemovalAllowed)).toBe(true);
        }
      }),
      RUNS,
    );
    expect(left).toBeGreaterThan(0);
  });

  it('that is let through loses a protected taint only to an exemption, the annotation or an Audit policy', () => {
    fc.assert(
      fc.property(nodeUpdate, (generated) => {
        const { request, compiled, records } = toNodeCase(generated);
        const admission = admit(request, compiled, records);
        if (admission.result === 'denied') return;
        const after = viewOf(admission.object);
        const isEstablished = establishedIn(generated.record);
        for (const taint of removedTaints(generated.before.taints, after.taints)) {
          for (const policy of compiled.taintPolicies) {
            const selected = policy.selectsNode(generated.before.labels) || policy.selectsNode(generated.after.labels);
            if (!selected || !policy.removalRestrictedBy(taint, isEstablished) || policy.mode === 'Audit') continue;
            const excused =
              policy.exempts(generated.user) ||
              (policy.allowsRemovalByAnnotation && generated.before.allowRemoval?.includes(taint.key));
            expect(excused).toBeTruthy();
          }
        }
      }),
      RUNS,
    );
  });

  it('is never refused when a node is created', () => {
    fc.assert(
      fc.property(nodeCreation, (generated) => {
        const { request, compiled, records } = toNodeCase(generated);
        expect(admit(request, compiled, records).result).not.toBe('denied');
      }),
      RUNS,
    );
  });
});

describe('a DaemonSet request, whatever the policies', () => {
  const cases = fc.record({ tolerations: generate.tolerations, policies: generate.tolerationPolicies });
  const daemonSet = (tolerations: readonly object[]) => ({
    metadata: { name: 'cni', labels: {} },
    spec: { template: { spec: { containers: [{ name: 'c' }], ...(tolerations.length > 0 ? { tolerations } : {}) } } },
  });

  it('is patched into exactly what was decided: additions at the end; a second pass adds nothing', () => {
    fc.assert(
      fc.property(cases, ({ tolerations, policies }) => {
        const request = daemonSetRequest({ object: daemonSet(tolerations) });
        const compiled = policySet({ toleration: policies });
        const { decision, patch } = judge(request, 'mutate', compiled);
        const { object, result } = admit(request, compiled);
        const view = viewDaemonSet(asDaemonSet(object, []), 'kube-system', 'cni');

        expect(result).not.toBe('denied');
        expect(view.tolerations.slice(0, tolerations.length)).toEqual(tolerations);
        expect(object).toEqual(daemonSet(view.tolerations));
        if (decision.action === 'patch') {
          const desired = (decision as Decision<DesiredDaemonSet> & { action: 'patch' }).desired;
          expect(view.tolerations).toEqual(desired.tolerations);
          expect(patch.length).toBe(tolerations.length === 0 ? 1 : desired.tolerations.length - tolerations.length);
        }
        expect(judge({ ...request, object }, 'mutate', compiled).patch).toEqual([]);
      }),
      RUNS,
    );
  });
});
