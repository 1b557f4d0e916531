import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { type Admission, admit, judge } from '../../src/admission/admit.ts';
import type { AdmissionRequest } from '../../src/admission/review.ts';
import { parseRemembered, REMEMBERED_ANNOTATION } from '../../src/judge/memory.ts';
import { parseRestored, RESTORED_ANNOTATION } from '../../src/judge/node-view.ts';
import type { Outcome } from '../../src/judge/outcomes.ts';
import { ALLOW_REMOVAL_ANNOTATION, parseRemoved, REMOVED_ANNOTATION } from '../../src/judge/removal.ts';
import { additionRulings, isForbidden } from '../../src/judge/rulings.ts';
import { formatTaint, identity, parseTaint, type Taint } from '../../src/kubernetes/taint.ts';
import type { TranslationOptions } from '../../src/native/native-policy.ts';
import { translate } from '../../src/native/translate.ts';
import { asNode, viewNode } from '../../src/objects/node-object.ts';
import type { TaintPolicy } from '../../src/policy/policy.ts';
import { compilePolicies, type PolicySet } from '../../src/policy/policy-set.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { isExploring, seed } from '../seed.ts';
import { recordsAt, withEstablished } from '../unit/judge/established.ts';
import { nodeScenario } from './match-conditions-cases.ts';
import { type Made, make, prepare } from './match-conditions-requests.ts';
import { createNativeRig, MUTATING_VERSION, type NativeRig, obstacleToMutation } from './native-rig.ts';

/** As many sets of policies as one likes are tried with TAINTKEEPER_POLICY_SETS, which also prints what they led to. */
const MORE_POLICY_SETS = process.env.TAINTKEEPER_POLICY_SETS;
const POLICY_SETS = Number(MORE_POLICY_SETS ?? 8);
const SEED = 562;
/** More sets are tried until every outcome has occurred: some are rare. */
const MAX_ROUNDS = 6;
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

const WITHOUT_MUTATION: readonly Outcome[] = ['denied', 'audited', 'addition-denied', 'unselection-denied'];
const OUTCOMES: readonly Outcome[] = [
  ...(['denied', 'restored', 'added', 'missing', 'audited', 'allowed-by-annotation', 'exempt'] as const),
  ...(['addition-denied', 'reverted', 'addition-audited', 'addition-exempt'] as const),
  ...(['unselection-denied', 'unselection-audited'] as const),
];

describeWithControlPlane(
  'native policies and engine, on generated TaintPolicies and nodes',
  { mutatingPolicies: true },
  (cp) => {
    let native: NativeRig;

    beforeAll(async () => {
      native = createNativeRig(cp(), { sparesAdmin: true, mutatingVersion: MUTATING_VERSION });
      await cp().request(admin, 'POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
        body: {
          metadata: { name: 'everybody-may-do-everything' },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
          subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:authenticated' }],
        },
      });
    });

    it(
      'agree: the same verdict, the same node, and the same is said of it',
      async (context) => {
        const tally = new Map<string, number>();
        const property = fc.asyncProperty(kind, nodeScenario(REQUESTS_PER_SET), async (options, scenario) => {
          const { policies, nodes, requests } = scenario;
          await prepare(cp(), nodes, []);
          const translations = policies.map((one) => translate(one, { among: policies, ...options }));
          expect(translations.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
          await native.enforce(translations.flatMap((translation) => translation.policies));
          for (const generated of requests) {
            const made = await make(cp(), { takeCalls: () => [] }, generated, nodes);
            const found = made ? check(made, policies, options) : ['not taken by the API server'];
            for (const what of found) tally.set(what, (tally.get(what) ?? 0) + 1);
          }
        });
        // Without an outcome, the generated cases would prove nothing about it.
        const all = obstacleToMutation ? [...WITHOUT_MUTATION] : [...OUTCOMES, 'removal recorded'];
        const missing = () => (isExploring() ? [] : all.filter((what) => !tally.has(what)));
        for (let round = 0; round === 0 || (round < MAX_ROUNDS && missing().length > 0); round++) {
          await fc.assert(property, { numRuns: POLICY_SETS, endOnFailure: true, seed: seed(SEED) + round });
        }
        const counted = [...tally].map(([what, times]) => `${what} ${times}`).join(', ');
        await context.annotate(counted);
        if (MORE_POLICY_SETS) process.stderr.write(`${counted}\n`);
        expect(missing()).toEqual([]);
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
function check({ request, answer }: Made, policies: readonly TaintPolicy[], options: Kind): string[] {
  const admission = expected(request, compilePolicies(policies), options);
  const context = () => JSON.stringify({ options, request, policies, answer, admission }, null, 1);
  const { message = '' } = answer.body;
  const denied =
    /ValidatingAdmissionPolicy '\S+' with binding '\S+' denied request: node \S+ must (keep|not get|not leave) /.test(
      message,
    );
  if (answer.status >= 400 && !denied) {
    // NodeRestriction stands before them, and refuses much of what a node tries here.
    expect(message, context()).toContain('is not allowed to modify');
    return ['refused by NodeRestriction'];
  }
  expect(denied ? 'denied' : 'passed', context()).toBe(admission.verdict === 'denied' ? 'denied' : 'passed');
  const tally = ['cases', ...new Set(admission.violations.map(({ outcome }) => outcome))];
  if (denied) return tally;

  const actual = looks(answer.body);
  const wanted = looks(admission.object);
  expect(actual.taints, context()).toEqual(wanted.taints);
  // What a new node says of itself, native policies leave as it is.
  const announced = request.operation === 'CREATE' ? looks(request.object) : wanted;
  expect(actual.allowRemoval, context()).toEqual(announced.allowRemoval);
  expect(actual.remembered, context()).toEqual(remembered(request, admission, compilePolicies(policies), options));
  const recorded = newRemovals(request, admission, options);
  expect(actual.removed, context()).toEqual(new Set([...looks(request.object).removed, ...recorded]));
  if (recorded.length > 0) tally.push('removal recorded');
  const restored = options.purpose === 'Alone' ? [] : restoredBy(admission);
  // Of several policies that protect a taint, the one that the API server asks first puts it back.
  expect(restored, context()).toEqual(expect.arrayContaining(actual.restored));
  expect(actual.restored.map(taintOf).sort(), context()).toEqual([...new Set(restored.map(taintOf))].sort());
  expect(warnedBy(answer.warnings), context()).toEqual(options.purpose === 'Alone' ? reportedBy(admission) : []);
  return tally;
}

/** What the engine says: without MutatingAdmissionPolicy, of the node as it was sent. */
function expected(request: AdmissionRequest, compiled: PolicySet, { mutates }: Kind): Admission {
  if (mutates) return admit(request, compiled, recordsAt(request));
  const { decision } = judge(request, 'validate', compiled, recordsAt(request));
  const verdict = decision.verdict === 'deny' ? 'denied' : 'allowed';
  return { ...decision, verdict, patch: [], object: request.object };
}

/** The parts that policies change. Taints put back by several policies come in any order. */
function looks(object: unknown) {
  const { metadata, spec } = object as NodeObject;
  const annotations = metadata.annotations ?? {};
  return {
    taints: (spec.taints ?? []).map((taint) => JSON.stringify(withoutEmpty(taint))).sort(),
    allowRemoval: annotations[ALLOW_REMOVAL_ANNOTATION],
    remembered: parseRemembered(annotations[REMEMBERED_ANNOTATION]).map(formatTaint),
    removed: new Set(parseRemoved(annotations[REMOVED_ANNOTATION]).map(formatTaint)),
    restored: parseRestored(annotations[RESTORED_ANNOTATION]).map(
      ({ policy, taint, isAddition }) => `${policy} ${isAddition ? '-' : ''}${formatTaint(taint)}`,
    ),
  };
}

function withoutEmpty({ value, ...taint }: Taint): object {
  return Object.fromEntries(Object.entries(value ? { value, ...taint } : taint).sort());
}

/** Natively nothing is remembered. What goes with leave is forgotten, and what is not let in, unless a node itself does it. */
function remembered(
  request: AdmissionRequest,
  { violations }: Admission,
  { taintPolicies }: PolicySet,
  { mutates }: Kind,
) {
  const { object, oldObject, operation, userInfo } = request;
  const before = looks(object).remembered;
  const byNode = userInfo.username?.startsWith('system:node:') && userInfo.groups?.includes('system:nodes');
  if (operation === 'CREATE' || byNode || !mutates) return before;
  const [node, oldNode] = [object, oldObject].map((one) => viewNode(asNode(one, []), ''));
  if (!node || !oldNode) throw new Error('no nodes');
  const requester = { username: userInfo.username ?? '', groups: userInfo.groups ?? [] };
  const rejected = additionRulings(
    { operation: 'UPDATE', phase: 'mutate', requester, node, oldNode: withEstablished(oldNode) },
    taintPolicies.filter((policy) => [node, oldNode].some(({ labels }) => policy.selectsNode(labels))),
  )
    .filter(isForbidden)
    .map(({ taint }) => formatTaint(taint));
  const gone = violations
    .filter(({ outcome, mode }) => outcome === 'allowed-by-annotation' || (outcome === 'exempt' && mode !== 'Audit'))
    .map(({ subject }) => idOf(subject));
  return before.filter((text) => !gone.includes(idOf(text)) && !rejected.includes(text));
}

/** What is on the list stays natively, and is added to where a webhook stands behind. */
function newRemovals({ object }: AdmissionRequest, admission: Admission, { mutates, purpose }: Kind): string[] {
  if (!mutates || purpose === 'Alone') return [];
  const before = looks(object).removed;
  return [...looks(admission.object).removed].filter((text) => !before.has(text));
}

function idOf(text: string): string | undefined {
  const taint = parseTaint(text);
  return taint && identity(taint);
}

/** What the annotation may say. */
function restoredBy({ violations }: Admission): string[] {
  return violations
    .filter(({ outcome }) => outcome === 'restored' || outcome === 'reverted')
    .map(({ policy, outcome, subject }) => `${policy} ${outcome === 'reverted' ? '-' : ''}${subject}`);
}

function taintOf(entry: string): string | undefined {
  return entry.split(' ')[1];
}

/** The policies that have something to report of a node that passes, once for each thing that there is to be said. */
function reportedBy({ violations }: Admission): string[] {
  const reports = violations.filter(({ outcome }) => outcome.endsWith('audited') || outcome === 'missing');
  return [...new Set(reports.map(({ policy, outcome }) => `${policy} ${outcome}`))]
    .map((report) => report.split(' ')[0] ?? '')
    .sort();
}

/** The policies in whose name the API server warns. */
function warnedBy(warnings: readonly string[]): string[] {
  return warnings
    .map((text) => {
      const [, policy] =
        /^Validation failed for ValidatingAdmissionPolicy '(\S+)\.(?:report|report-registration|leave)\.taintkeeper\.dev'/.exec(
          text,
        ) ?? [];
      return policy ?? text;
    })
    .sort();
}
