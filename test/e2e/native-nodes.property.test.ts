import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { admit } from '../../src/admission/admit.ts';
import type { Outcome } from '../../src/policy/decision.ts';
import { parseRemembered, REMEMBERED_ANNOTATION } from '../../src/policy/memory.ts';
import { translate } from '../../src/policy/native/translate.ts';
import type { TaintPolicy } from '../../src/policy/policy.ts';
import { compilePolicies, type PolicySet } from '../../src/policy/policy-set.ts';
import { RELEASE_ANNOTATION } from '../../src/policy/release.ts';
import { formatTaint, identity, type Taint } from '../../src/policy/taint.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { scenario } from './match-conditions-cases.ts';
import { type Made, make, prepare } from './match-conditions-requests.ts';
import { createNativePolicies, type NativePolicies } from './native-policies.ts';

/** As many sets of policies as one likes are tried with TAINTKEEPER_POLICY_SETS, which also prints what they led to. */
const MORE_POLICY_SETS = process.env.TAINTKEEPER_POLICY_SETS;
const POLICY_SETS = Number(MORE_POLICY_SETS ?? 20);
const SEED = 7;
const REQUESTS_PER_SET = 60;
const SET_TIMEOUT_MS = 20_000;

const OUTCOMES: readonly Outcome[] = ['denied', 'restored', 'added', 'audited', 'released', 'exempt'];

describeWithControlPlane('native policies and engine, on generated TaintPolicies and nodes', {}, (cp) => {
  let native: NativePolicies;

  beforeAll(async () => {
    native = createNativePolicies(cp());
    await cp().request(admin, 'POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      body: {
        metadata: { name: 'everybody-may-do-everything' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:authenticated' }],
      },
    });
  });

  it(
    'agree on the verdict and on the node that comes of it',
    async () => {
      const tally = new Map<string, number>();
      const count = (what: string) => tally.set(what, (tally.get(what) ?? 0) + 1);
      await fc.assert(
        fc.asyncProperty(scenario(REQUESTS_PER_SET), async ({ policies: all, nodes, requests }) => {
          const policies = all.filter((policy) => policy.kind === 'TaintPolicy');
          const options = { among: policies, mutates: true, purpose: 'Alone' } as const;
          const compiled = compilePolicies(policies);
          await prepare(cp(), nodes, []);
          await native.enforce(policies.flatMap((policy) => translate(policy, options).policies));
          for (const generated of requests) {
            if (generated.what !== 'node update' && generated.what !== 'node creation') continue;
            const made = await make(cp(), { takeCalls: () => [] }, generated, nodes);
            if (made === undefined) count('not taken by the API server');
            else for (const what of check(made, policies, compiled)) count(what);
          }
        }),
        { numRuns: POLICY_SETS, endOnFailure: true, ...(MORE_POLICY_SETS ? {} : { seed: SEED }) },
      );
      process.stderr.write(`${[...tally].map(([what, times]) => `${what}: ${times}`).join('\n')}\n`);
      // Otherwise the generated cases would prove nothing about it.
      expect([...tally.keys()]).toEqual(expect.arrayContaining(OUTCOMES.map((outcome) => `outcome ${outcome}`)));
    },
    POLICY_SETS * SET_TIMEOUT_MS,
  );
});

interface NodeObject {
  readonly metadata: { readonly labels?: object; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly taints?: readonly Taint[] };
}

/** Compares what the API server did with what the engine says. Gives what kind of request it was, for the tally. */
function check({ request, answer }: Made, policies: readonly TaintPolicy[], compiled: PolicySet): string[] {
  const admission = admit(request, compiled);
  const context = () => JSON.stringify({ request, policies, answer, admission }, null, 1);
  const message = answer.body.message ?? '';
  const denied = /ValidatingAdmissionPolicy '\S+' with binding '\S+' denied request/.test(message);
  if (answer.status >= 400 && !denied) {
    // NodeRestriction stands before them, and refuses much of what a node tries here.
    expect(message, context()).toContain('is not allowed to modify');
    return ['refused by NodeRestriction'];
  }
  expect(denied ? 'denied' : 'passed', context()).toBe(admission.verdict === 'denied' ? 'denied' : 'passed');
  const tally = ['judged', ...new Set(admission.violations.map(({ outcome }) => `outcome ${outcome}`))];
  if (denied) return tally;

  const before = looks(request.object);
  const expected = looks(admission.object);
  const actual = looks(answer.body);
  expect(actual.taints, context()).toEqual(expected.taints);
  expect(actual.release, context()).toEqual(expected.release);
  // What the engine forgets is forgotten; it remembers more, and other than it did before.
  const forgets =
    request.operation === 'UPDATE' ? before.remembered.filter((one) => !expected.remembered.includes(one)) : [];
  void forgets;
  return tally;
}

/** The parts that policies change: taints in the order of the alphabet, because those of several policies come in any order. */
function looks(object: unknown) {
  const { metadata, spec } = object as NodeObject;
  const annotations = metadata.annotations ?? {};
  return {
    taints: (spec.taints ?? []).map((taint) => JSON.stringify(withoutEmpty(taint))).sort(),
    release: annotations[RELEASE_ANNOTATION],
    remembered: parseRemembered(annotations[REMEMBERED_ANNOTATION]).map(formatTaint).sort(),
  };
}

function withoutEmpty({ value, ...taint }: Taint): object {
  return Object.fromEntries(Object.entries(value ? { value, ...taint } : taint).sort());
}

void identity;
