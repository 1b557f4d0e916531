import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { simulateAdmission } from '../../src/admission/simulate-admission.ts';
import { outcomeText } from '../../src/judge/outcomes.ts';
import type { Toleration } from '../../src/kubernetes/toleration.ts';
import { translate } from '../../src/native/translate.ts';
import type { DaemonSetSelection } from '../../src/policy/daemon-set-selection.ts';
import { type Policy, parsePolicy } from '../../src/policy/policy.ts';
import { compilePolicies } from '../../src/policy/policy-set.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { isExploring, seed } from '../seed.ts';
import { manifest } from '../unit/policy/policies.ts';
import { scenario } from './native-daemon-set-cases.ts';
import { check, make, store } from './native-daemon-set-requests.ts';
import { createNativeRig, MUTATING_VERSION, type NativeRig, obstacleToMutation } from './native-rig.ts';

/** Sets of policies, each of which takes the API server two seconds to take in: more of them with TAINTKEEPER_POLICY_SETS. */
const MORE_POLICY_SETS = process.env.TAINTKEEPER_POLICY_SETS;
const POLICY_SETS = Number(MORE_POLICY_SETS ?? 5);
const SEED = 7;
const REQUESTS_PER_SET = 60;
const SET_TIMEOUT_MS = 20_000;
/** Policies that are in force at once. The API server goes to its limits for each of them, at every request. */
const MANY = MORE_POLICY_SETS ? 20 : 8;

describeWithControlPlane(
  'native tolerations and the engine, on generated policies',
  { mutatingPolicies: true, obstacle: obstacleToMutation },
  (cp) => {
    let rig: NativeRig;
    beforeAll(() => {
      rig = createNativeRig(cp(), { sparesAdmin: true, mutatingVersion: MUTATING_VERSION });
    });

    it(
      'agree: the same object, and the same report',
      async (context) => {
        const tally = new Map<string, number>();
        await fc.assert(
          fc.asyncProperty(scenario(REQUESTS_PER_SET), async ({ policies, states, requests }) => {
            await enforce(rig, policies);
            await store(cp(), states);
            const compiled = compilePolicies(policies);
            for (const request of requests) {
              const made = await make(cp(), request);
              if (made === undefined) continue;
              const admission = simulateAdmission({ ...made.request, userInfo: {} }, compiled);
              check(made, admission);
              for (const what of ['cases', ...new Set(admission.violations.map(outcomeText))]) {
                tally.set(what, (tally.get(what) ?? 0) + 1);
              }
            }
          }),
          { numRuns: POLICY_SETS, endOnFailure: true, seed: seed(SEED) },
        );
        const counted = [...tally].map(([what, times]) => `${what} ${times}`).join(', ');
        await context.annotate(counted);
        if (MORE_POLICY_SETS) process.stderr.write(`${counted}\n`);
        if (!isExploring()) expect([...tally.keys()]).toEqual(expect.arrayContaining(['added', 'missing', 'audited']));
      },
      POLICY_SETS * SET_TIMEOUT_MS,
    );

    it.each<{ why: string; policies: Policy[] }>([
      { why: 'one policy with 64 tolerations', policies: [requiring('a', {}, keys('required', 64))] },
      {
        why: `${MANY} policies that require the same, each for DaemonSets of its own choice`,
        policies: Array.from({ length: MANY }, (_, index) => requiring(`p${index}`, { names: [`*${index}`, 'cni*'] })),
      },
      {
        why: `${MANY} policies that require different things`,
        policies: Array.from({ length: MANY }, (_, index) =>
          requiring(`p${index}`, { names: [`*${index}`, 'cni*'] }, keys(`required-${index}`, 3)),
        ),
      },
      {
        why: 'tolerations that may cover one another',
        policies: [
          requiring(
            'a',
            {},
            keys('required', 8).flatMap((one) => [{ ...one, effect: 'NoExecute' }, one]),
          ),
        ],
      },
    ])('agree on as many tolerations as the API server can evaluate: $why', async ({ policies }) => {
      const size = await enforce(rig, policies);
      const compiled = compilePolicies(policies);
      const required = compiled.tolerationPolicies.flatMap(({ tolerations }) => tolerations.map(({ value }) => value));
      const others = keys('other', size - required.length);
      const state = {
        labels: {},
        annotations: {},
        image: 'a',
        hostNetwork: false,
        tolerations: [...others, ...required],
      };
      await store(cp(), [state]);
      for (const left of [others, [...others, ...required.slice(1)], []]) {
        for (const what of ['create', 'update'] as const) {
          const request = {
            what,
            by: 'name',
            namespace: 'kube-system',
            name: what === 'update' ? 'cni' : 'cni-n',
          } as const;
          const made = await make(cp(), { ...request, state: { ...state, tolerations: left } });
          if (made === undefined) throw new Error('the API server does not take it');
          const admission = simulateAdmission({ ...made.request, userInfo: {} }, compiled);
          check(made, admission);
          if (left === others) expect(admission.violations.length).toBeGreaterThan(1);
        }
      }
    });
  },
);

/** Puts the policies in force. Gives how many tolerations a DaemonSet may have for the API server to evaluate them. */
async function enforce(rig: NativeRig, policies: readonly Policy[]): Promise<number> {
  const translations = policies.flatMap((policy) =>
    policy.kind === 'RecoveryPolicy' ? [] : [translate(policy, { among: policies, mutates: true, purpose: 'Alone' })],
  );
  expect(translations.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
  await rig.enforce(translations.flatMap((translation) => translation.policies));
  const limits = translations.flatMap((translation) => translation.limits);
  const sizes = limits.map(({ message }) => Number(/with more than (\d+) tolerations$/.exec(message)?.[1]));
  return Math.min(256, ...sizes);
}

function keys(prefix: string, count: number): Toleration[] {
  return Array.from({ length: count }, (_, index) => ({ key: `example.com/${prefix}-${index}`, operator: 'Exists' }));
}

function requiring(name: string, selection: Partial<DaemonSetSelection>, tolerations?: readonly Toleration[]): Policy {
  const daemonSets = { namespaces: ['kube-system'], ...selection };
  const spec = { mode: 'Mutate', daemonSets, ...(tolerations ? { tolerations } : {}) };
  const parsed = parsePolicy(manifest('TolerationPolicy', name, spec));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.policy;
}
