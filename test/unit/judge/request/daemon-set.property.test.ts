import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DaemonSetView } from '../../../../src/judge/daemon-set-view.ts';
import { judgeDaemonSet } from '../../../../src/judge/request/daemon-set.ts';
import { formatSeconds, formatToleration, type Toleration } from '../../../../src/kubernetes/toleration.ts';
import type { PolicySet } from '../../../../src/policy/policy-set.ts';
import type { TolerationPolicySpec } from '../../../../src/policy/toleration-policy.ts';
import { policySet } from '../../policy/policies.ts';
import { ofPods, secondsOn, TAINTS, tolerationCases } from '../../policy/toleration-cases.ts';

const RUNS = { numRuns: 1_000 };

const NAMES = ['p', 'q', 'r'];

function compiled(policies: readonly TolerationPolicySpec[], names = NAMES): PolicySet {
  return policySet({ toleration: Object.fromEntries(policies.map((spec, index) => [names[index], spec])) });
}

function created(tolerations: readonly Toleration[], hostNetwork: boolean, policies: PolicySet) {
  const view = { namespace: 'kube-system', name: 'cni', labels: {}, annotations: {}, deleting: false, hostNetwork };
  const daemonSet: DaemonSetView = { ...view, tolerations };
  const decision = judgeDaemonSet.mutate({ daemonSet }, policies);
  const after = decision.action === 'patch' ? decision.desired.tolerations : tolerations;
  const { violations } = judgeDaemonSet.validate({ daemonSet: { ...view, tolerations: after } }, policies);
  return { after, added: after.slice(tolerations.length), subjects: new Set(violations.map(({ subject }) => subject)) };
}

describe('with any policies and any DaemonSet', () => {
  it('after mutation, each taint of a required toleration is tolerated, or a warning names the shorter time', () => {
    fc.assert(
      fc.property(tolerationCases, ({ tolerations, hostNetwork, policies }) => {
        const { after, subjects } = created(tolerations, hostNetwork, compiled(policies));
        const pods = ofPods(after, hostNetwork);
        for (const required of policies.flatMap(({ tolerations = [] }) => tolerations)) {
          for (const taint of TAINTS) {
            const requiredSeconds = secondsOn(taint, [required]);
            const got = secondsOn(taint, pods);
            if (requiredSeconds >= 0) expect(got, 'tolerated').toBeGreaterThanOrEqual(0);
            // What is required more widely is reported more widely.
            if (got < requiredSeconds)
              expect([...subjects].some((subject) => / for | without /.test(subject))).toBe(true);
          }
        }
        expect([...subjects].filter((subject) => !/ for | without /.test(subject))).toEqual([]);
      }),
      RUNS,
    );
  });

  it('every added toleration changes on which nodes the pods can run, with any other tolerations', () => {
    fc.assert(
      fc.property(tolerationCases, ({ tolerations, hostNetwork, policies }) => {
        const { after, added } = created(tolerations, hostNetwork, compiled(policies));
        const pods = ofPods(after, hostNetwork);
        for (const one of added) {
          const without = ofPods(
            after.filter((other) => other !== one),
            hostNetwork,
          );
          const changes = TAINTS.some((taint) => secondsOn(taint, without) !== secondsOn(taint, pods));
          expect(changes, formatToleration(one)).toBe(true);
        }
      }),
      RUNS,
    );
  });

  it('a time that is reported as too short is that of an existing toleration', () => {
    fc.assert(
      fc.property(tolerationCases, ({ tolerations, hostNetwork, policies }) => {
        const { after, subjects } = created(tolerations, hostNetwork, compiled(policies));
        const pods = ofPods(after, hostNetwork);
        const required = policies.flatMap(({ tolerations = [] }) => tolerations);
        for (const subject of subjects) {
          const short = required
            .filter((toleration) => formatSeconds(toleration) === subject)
            .some((toleration) =>
              TAINTS.some((taint) =>
                pods.some((one) => isBetween(0, secondsOn(taint, [one]), secondsOn(taint, [toleration]))),
              ),
            );
          expect(short, subject).toBe(true);
        }
      }),
      RUNS,
    );
  });

  it('the names of the policies do not change which tolerations are added', () => {
    fc.assert(
      fc.property(tolerationCases, ({ tolerations, hostNetwork, policies }) => {
        const sets = [NAMES, NAMES.toReversed()].map((names) =>
          created(tolerations, hostNetwork, compiled(policies, names)).added.map((one) =>
            JSON.stringify(spelledOut(one)),
          ),
        );
        expect(new Set(sets[0])).toEqual(new Set(sets[1]));
      }),
      RUNS,
    );
  });
});

function isBetween(from: number, seconds: number, to: number): boolean {
  return from <= seconds && seconds < to;
}

function spelledOut({ key = '', operator = 'Equal', value = '', effect = '', tolerationSeconds = null }: Toleration) {
  return [key, operator, value, effect, tolerationSeconds];
}
