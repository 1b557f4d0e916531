import fc from 'fast-check';
import jsonPatch from 'fast-json-patch';
import { describe, expect, it } from 'vitest';
import { judgeRequest } from '../../../src/admission/judge-request.ts';
import { simulateAdmission } from '../../../src/admission/simulate-admission.ts';
import { isRemovalAllowed, parseAllowedRemovals } from '../../../src/judge/allow-removal.ts';
import type { DesiredDaemonSet } from '../../../src/judge/daemon-set-view.ts';
import type { Decision } from '../../../src/judge/decision.ts';
import { isDeclaredTaint, requiredTaints } from '../../../src/judge/declared-taints.ts';
import type { DesiredNode } from '../../../src/judge/node-view.ts';
import { formatTaint, sameTaint, type Taint, taintIdentity, taintsOnlyIn } from '../../../src/kubernetes/taint.ts';
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

describe('with any policies, a Node request', () => {
  it('is patched to exactly the desired object, and nothing else changes', () => {
    fc.assert(
      fc.property(nodeCases, (generated) => {
        const { request, compiled } = toNodeCase(generated);
        const { decision, patch } = judgeRequest(request, 'mutate', compiled);
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
        const { request, compiled } = toNodeCase(generated);
        const { object } = simulateAdmission(request, compiled);
        expect(judgeRequest({ ...request, object }, 'mutate', compiled).patch).toEqual([]);
      }),
      RUNS,
    );
  });

  it('is decided alike with and without a backstop', () => {
    fc.assert(
      fc.property(nodeCases, ({ policies, ...generated }) => {
        const [backed, bare] = (['Native', 'None'] as const).map((backstop) => {
          const all = Object.entries(policies).map(([name, spec]) => [name, { ...spec, backstop }]);
          const { request, compiled } = toNodeCase({
            ...generated,
            policies: Object.fromEntries(all),
          });
          return simulateAdmission(request, compiled);
        });
        expect(backed).toEqual(bare);
      }),
      RUNS,
    );
  });

  it('never ends with two taints of one key and effect', () => {
    fc.assert(
      fc.property(nodeCases, (generated) => {
        const { request, compiled } = toNodeCase(generated);
        const { taints } = viewOf(simulateAdmission(request, compiled).object);
        expect(new Set(taints.map(({ key, effect }) => `${key}:${effect}`)).size).toBe(taints.length);
      }),
      RUNS,
    );
  });

  it("keeps the requester's taints, in their order; only a value may change back, or to what a policy requires", () => {
    fc.assert(
      fc.property(nodeUpdate, (generated) => {
        const { before, after } = generated;
        const { request, compiled } = toNodeCase(generated);
        const { taints } = viewOf(simulateAdmission(request, compiled).object);
        expect(taints.slice(0, after.taints.length).map(taintIdentity)).toEqual(after.taints.map(taintIdentity));
        after.taints.forEach((asked, index) => {
          const stored = before.taints.find((old) => sameTaint(old, asked));
          const required = requiredTaints(after.labels, compiled.taintPolicies).filter((one) =>
            sameTaint(one.taint, asked),
          );
          const possible = [asked, ...(stored ? [stored] : []), ...required.map(({ taint }) => taint)];
          expect(possible.map(formatTaint)).toContain(formatTaint(taints[index] as Taint));
        });
      }),
      MORE_RUNS,
    );
  });

  it('that is allowed loses a protected taint only by an exemption, the annotation, the required value or an Audit policy', () => {
    fc.assert(
      fc.property(nodeUpdate, (generated) => {
        const { before, user } = generated;
        const { request, compiled } = toNodeCase(generated);
        const admission = simulateAdmission(request, compiled);
        if (admission.result === 'denied') return;
        const after = viewOf(admission.object);
        const allowed = parseAllowedRemovals(before.allowRemoval);
        const required = requiredTaints(after.labels, compiled.taintPolicies);
        const takesRequiredValue = (taint: Taint) => {
          const now = after.taints.find((one) => sameTaint(one, taint));
          return now !== undefined && required.some((one) => isDeclaredTaint(now, one));
        };
        for (const taint of taintsOnlyIn(before.taints, after.taints)) {
          for (const policy of compiled.taintPolicies) {
            const selected = policy.selectsNode(before.labels) || policy.selectsNode(generated.after.labels);
            if (!selected || policy.protectingRule(taint) === undefined || policy.mode === 'Audit') continue;
            const excused =
              policy.exempts(user) ||
              (policy.allowsRemovalByAnnotation && isRemovalAllowed(allowed, taint)) ||
              takesRequiredValue(taint);
            expect(excused).toBe(true);
          }
        }
      }),
      RUNS,
    );
  });

  it('is never refused when a node is created', () => {
    fc.assert(
      fc.property(nodeCreation, (generated) => {
        const { request, compiled } = toNodeCase(generated);
        expect(simulateAdmission(request, compiled).result).not.toBe('denied');
      }),
      RUNS,
    );
  });
});

describe('with any policies, a DaemonSet request', () => {
  const cases = fc.record({ tolerations: generate.tolerations, policies: generate.tolerationPolicies });
  const daemonSet = (tolerations: readonly object[]) => ({
    metadata: { name: 'cni', labels: {} },
    spec: { template: { spec: { containers: [{ name: 'c' }], ...(tolerations.length > 0 ? { tolerations } : {}) } } },
  });

  it('is patched to exactly the desired object, with additions at the end, and a second pass adds nothing', () => {
    fc.assert(
      fc.property(cases, ({ tolerations, policies }) => {
        const request = daemonSetRequest({ object: daemonSet(tolerations) });
        const compiled = policySet({ toleration: policies });
        const { decision, patch } = judgeRequest(request, 'mutate', compiled);
        const { object, result } = simulateAdmission(request, compiled);
        const view = viewDaemonSet(asDaemonSet(object, []), 'kube-system', 'cni');

        expect(result).not.toBe('denied');
        expect(view.tolerations.slice(0, tolerations.length)).toEqual(tolerations);
        expect(object).toEqual(daemonSet(view.tolerations));
        if (decision.action === 'patch') {
          const desired = (decision as Decision<DesiredDaemonSet> & { action: 'patch' }).desired;
          expect(view.tolerations).toEqual(desired.tolerations);
          expect(patch.length).toBe(tolerations.length === 0 ? 1 : desired.tolerations.length - tolerations.length);
        }
        expect(judgeRequest({ ...request, object }, 'mutate', compiled).patch).toEqual([]);
      }),
      RUNS,
    );
  });
});
