import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import type { AdmissionRequest } from '../../src/admission/admission-review.ts';
import { judgeRequest } from '../../src/admission/judge-request.ts';
import { type Admission, simulateAdmission } from '../../src/admission/simulate-admission.ts';
import { ALLOW_REMOVAL_ANNOTATION, parseAllowedRemovals } from '../../src/judge/allow-removal.ts';
import { outcomeText } from '../../src/judge/outcomes.ts';
import type { Taint } from '../../src/kubernetes/taint.ts';
import { translate } from '../../src/native/translate.ts';
import type { TranslationOptions } from '../../src/native/translation.ts';
import type { TaintPolicy } from '../../src/policy/policy.ts';
import { compilePolicies, type PolicySet } from '../../src/policy/policy-set.ts';
import { makeClusterAdmin } from '../control-plane/cluster-admin.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { inCase } from '../in-case.ts';
import { checkUntilAllOccurred, MAX_ROUNDS } from '../rounds.ts';
import { OUTCOMES } from '../unit/cel-rules/expected-calls.ts';
import { nodeScenario } from '../unit/cel-rules/scenarios.ts';
import { type Made, make, prepare } from './dry-run-requests.ts';
import { createNativeRig, MUTATING_VERSION, type NativeRig, obstacleToMutation } from './native-rig.ts';

/** As many sets of policies as one likes are tried with TAINTKEEPER_POLICY_SETS, which also prints what they led to. */
const MORE_POLICY_SETS = process.env.TAINTKEEPER_POLICY_SETS;
const POLICY_SETS = Number(MORE_POLICY_SETS ?? 5);
/** Everything that must occur does so in two rounds; with most seeds it takes six. */
const SEED = 2_218;
const REQUESTS_PER_SET = 60;
const SET_TIMEOUT_MS = 20_000;

type Kind = Pick<TranslationOptions, 'mutates' | 'purpose'>;

const kind = fc.constantFrom<Kind>(
  ...(obstacleToMutation
    ? []
    : ([
        { mutates: true, purpose: 'Alone' },
        { mutates: true, purpose: 'Backstop' },
      ] as const)),
  // As on an API server that has no MutatingAdmissionPolicy.
  { mutates: false, purpose: 'Alone' },
);

const WITHOUT_MUTATION: readonly string[] = ['denied', 'audited'];
const REWRITES = ['taint set on selection', 'entry written', 'entry deleted', 'annotation of a new node deleted'];

describeWithControlPlane(
  'native policies and engine, on generated TaintPolicies and nodes',
  { mutatingPolicies: true },
  (cp) => {
    let native: NativeRig;

    beforeAll(async () => {
      native = createNativeRig(cp(), { sparesAdmin: true, mutatingVersion: MUTATING_VERSION });
      await makeClusterAdmin(cp(), 'Group', 'system:authenticated');
    });

    it(
      'agree: the same decision, the same node, and the same report',
      async (context) => {
        const all = obstacleToMutation ? [...WITHOUT_MUTATION] : [...OUTCOMES, ...REWRITES];
        const occurred = await checkUntilAllOccurred(
          fc.tuple(kind, nodeScenario(REQUESTS_PER_SET)),
          async ([options, { policies, nodes, requests }]) => {
            await prepare(cp(), nodes, []);
            const translations = policies.map((one) => translate(one, { among: policies, ...options }));
            expect(translations.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
            await native.enforce(translations.flatMap((translation) => translation.policies));
            const found: string[] = [];
            for (const generated of requests) {
              const made = await make(cp(), generated, nodes);
              found.push(...(made ? check(made, policies, options) : ['not taken by the API server']));
            }
            return found;
          },
          { numRuns: POLICY_SETS, usualSeed: SEED, all },
        );
        const counted = [...occurred].map(([what, times]) => `${what} ${times}`).join(', ');
        await context.annotate(counted);
        if (MORE_POLICY_SETS) process.stderr.write(`${counted}\n`);
      },
      MAX_ROUNDS * POLICY_SETS * SET_TIMEOUT_MS,
    );
  },
);

interface NodeObject {
  readonly metadata: { readonly labels?: object; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly taints?: readonly Taint[] };
}

/** Compares what the API server did with what the engine says. Gives what kind of request it was, for the tally. */
function check(made: Made, policies: readonly TaintPolicy[], options: Kind): string[] {
  const { request, answer } = made;
  const admission = expected(request, compilePolicies(policies), options);
  return inCase(
    () => ({ options, request, policies, answer, admission }),
    () => compare(made, admission, options),
  );
}

function compare({ request, answer }: Made, admission: Admission, options: Kind): string[] {
  const { message = '' } = answer.body;
  const denied = /ValidatingAdmissionPolicy '\S+' with binding '\S+' denied request: node \S+: removing /.test(message);
  if (answer.status >= 400 && !denied) {
    // NodeRestriction stands before them, and refuses much of what a node tries here.
    expect(message).toContain('is not allowed to modify');
    return ['refused by NodeRestriction'];
  }
  expect(denied ? 'denied' : 'passed').toBe(admission.result === 'denied' ? 'denied' : 'passed');
  const tally = ['cases', ...new Set(admission.violations.map(outcomeText))];
  if (denied) return tally;

  const actual = looks(answer.body);
  const judged = looks(admission.object);
  expect(actual.taints).toEqual(judged.taints);
  const sent = entriesOf(request.object);
  const entries = entriesOf(answer.body);
  expect(entries.toSorted()).toEqual(entriesOf(admission.object).toSorted());
  // Of an annotation without entries, only its end on a new node matters.
  if (request.operation === 'CREATE') expect(actual.allowRemoval).toBe(judged.allowRemoval);
  else if (sent.join() === entries.join()) expect(actual.allowRemoval).toBe(looks(request.object).allowRemoval);
  if (request.operation === 'UPDATE' && tally.includes('added')) tally.push('taint set on selection');
  if (entries.some((entry) => !sent.includes(entry))) tally.push('entry written');
  if (sent.some((entry) => !entries.includes(entry))) {
    tally.push(request.operation === 'UPDATE' ? 'entry deleted' : 'annotation of a new node deleted');
  }
  expect(warnedBy(answer.warnings)).toEqual(options.purpose === 'Alone' ? reportedBy(admission) : []);
  return tally;
}

/** What the engine decides. Without MutatingAdmissionPolicy, it validates the node as it was sent. */
function expected(request: AdmissionRequest, compiled: PolicySet, { mutates }: Kind): Admission {
  if (mutates) return simulateAdmission(request, compiled);
  const { decision } = judgeRequest(request, 'validate', compiled);
  return {
    ...decision,
    result: decision.action === 'deny' ? 'denied' : 'allowed',
    patch: [],
    object: request.object,
  };
}

function entriesOf(object: unknown): string[] {
  return parseAllowedRemovals(looks(object).allowRemoval).entries.map(({ text }) => text);
}

function taintsOf(object: unknown): readonly Taint[] {
  return (object as NodeObject).spec.taints ?? [];
}

/** The parts that policies change. Taints restored by several policies come in any order. */
function looks(object: unknown) {
  const { annotations = {} } = (object as NodeObject).metadata;
  return {
    taints: taintsOf(object)
      .map((taint) => JSON.stringify(withoutEmpty(taint)))
      .sort(),
    allowRemoval: annotations[ALLOW_REMOVAL_ANNOTATION],
  };
}

function withoutEmpty({ value, ...taint }: Taint): object {
  return Object.fromEntries(Object.entries(value ? { value, ...taint } : taint).sort());
}

/** The policies that report something of a node that passes, once for each outcome. */
function reportedBy({ violations }: Admission): string[] {
  const reports = violations.filter(({ result }) => result === 'Audited' || result === 'Reported');
  return [...new Set(reports.map(({ policy, result }) => `${policy} ${result}`))]
    .map((report) => report.split(' ')[0] ?? '')
    .sort();
}

/** The policies in whose name the API server warns. */
function warnedBy(warnings: readonly string[]): string[] {
  return warnings
    .map((text) => {
      const [, policy] =
        /^Validation failed for ValidatingAdmissionPolicy '(\S+)\.(?:report|report-registration)\.taintkeeper\.dev'/.exec(
          text,
        ) ?? [];
      return policy ?? text;
    })
    .sort();
}
