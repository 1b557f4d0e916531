import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { simulateAdmission } from '../../src/admission/simulate-admission.ts';
import { outcomeText } from '../../src/judge/outcomes.ts';
import type { Toleration } from '../../src/kubernetes/toleration.ts';
import type { DaemonSetSelection } from '../../src/policy/daemon-set-selection.ts';
import { type Policy, parsePolicy } from '../../src/policy/policy.ts';
import { compilePolicies } from '../../src/policy/policy-set.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { developer } from '../control-plane/users.ts';
import { isExploring, seed } from '../seed.ts';
import { manifest } from '../unit/policy/policies.ts';
import { make, prepare } from './dry-run-requests.ts';
import { scenario } from './native-daemon-set-scenarios.ts';
import { check, enforce } from './native-daemon-sets.ts';
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
            await prepare(cp(), [], states);
            const compiled = compilePolicies(policies);
            for (const request of requests) {
              const made = await make(cp(), request, []);
              if (made === undefined) continue;
              const admission = simulateAdmission(made.request, compiled);
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
        ignore: undefined,
        image: 'a',
        hostNetwork: false,
        tolerations: [...others, ...required],
      };
      await prepare(cp(), [], [state]);
      for (const left of [others, [...others, ...required.slice(1)], []]) {
        for (const what of ['DaemonSet creation', 'DaemonSet update'] as const) {
          const request = { what, place: 0, state: { ...state, tolerations: left }, user: developer };
          const made = await make(cp(), request, []);
          if (made === undefined) throw new Error('the API server does not take it');
          const admission = simulateAdmission(made.request, compiled);
          check(made, admission);
          if (left === others) expect(admission.violations.length).toBeGreaterThan(1);
        }
      }
    });
  },
);

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
