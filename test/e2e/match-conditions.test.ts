import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALLOW_REMOVAL_ANNOTATION } from '../../src/judge/allow-removal.ts';
import { outcomeText } from '../../src/judge/outcomes.ts';
import { formatTaint } from '../../src/kubernetes/taint.ts';
import type { Policy } from '../../src/policy/policy.ts';
import { compilePolicies, type PolicySet } from '../../src/policy/policy-set.ts';
import { webhookEntries } from '../../src/webhooks/webhook-entries.ts';
import { makeClusterAdmin } from '../control-plane/cluster-admin.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { applied } from '../fuzz/patches.ts';
import { inCase } from '../in-case.ts';
import { checkUntilAllOccurred, MAX_ROUNDS } from '../rounds.ts';
import { daemonSetRequest, taintPolicies, tolerationPolicies, updateRequest } from '../unit/cel-rules/case-requests.ts';
import {
  CALLS_AND_OUTCOMES,
  countFits,
  type ExpectedCalls,
  expectedCalls,
  warned,
} from '../unit/cel-rules/expected-calls.ts';
import { taintsOf, tolerationsOf, withoutEmpty } from '../unit/cel-rules/objects.ts';
import { scenario } from '../unit/cel-rules/scenarios.ts';
import { SENT_DAEMON_SET_CASES } from '../unit/judge/request/daemon-set-cases.ts';
import { USER_UPDATE_CASES } from '../unit/judge/request/update-cases.ts';
import { type Made, make, prepare } from './dry-run-requests.ts';
import { type Call, createEntryRig, type EntryRig } from './match-conditions-rig.ts';

/**
 * Sets of policies, for each of which the API server has to be told anew. As many more
 * as one likes are tried with TAINTKEEPER_POLICY_SETS, which also prints what they led to.
 */
const MORE_POLICY_SETS = process.env.TAINTKEEPER_POLICY_SETS;
const POLICY_SETS = Number(MORE_POLICY_SETS ?? 8);
/** Everything that must occur does so in one round; with most seeds it takes several. */
const SEED = 1_538;
const REQUESTS_PER_SET = 60;
const SET_TIMEOUT_MS = 20_000;

describeWithControlPlane('matchConditions and engine, on generated policies and requests', {}, (cp) => {
  let rig: EntryRig;

  beforeAll(async () => {
    rig = await createEntryRig(cp());
    await makeClusterAdmin(cp(), 'Group', 'system:authenticated');
  });
  afterAll(() => rig?.stop());

  it(
    'agree: what the engine has to say of reaches it, once in each phase, and nothing else does',
    async () => {
      const occurred = await checkUntilAllOccurred(
        scenario(REQUESTS_PER_SET),
        async ({ policies, audit, nodes, daemonSets, requests }) => {
          const compiled = compilePolicies(policies, { audit });
          await prepare(cp(), nodes, daemonSets);
          await rig.register(webhookEntries(policies, { audit }), compiled);
          const found: string[] = [];
          for (const generated of requests) {
            const made = await make(cp(), generated, nodes, rig);
            found.push(...(made ? check(made, policies, compiled) : ['not taken by the API server']));
          }
          return found;
        },
        { numRuns: POLICY_SETS, usualSeed: SEED, all: CALLS_AND_OUTCOMES },
      );
      if (MORE_POLICY_SETS) {
        process.stderr.write(`${[...occurred].map(([what, times]) => `${what}: ${times}`).join('\n')}\n`);
      }
    },
    MAX_ROUNDS * POLICY_SETS * SET_TIMEOUT_MS,
  );

  it.each(USER_UPDATE_CASES)('agree: $why', async ({ update, taints, allowRemoval, ...one }) => {
    const policies = taintPolicies(one.policies);
    const compiled = compilePolicies(policies);
    const { node, request } = updateRequest(update);
    await prepare(cp(), [node], []);
    await rig.register(webhookEntries(policies), compiled);
    const made = await make(cp(), request, [node], rig);
    if (!made) throw new Error('the API server does not take the update');
    check(made, policies, compiled);
    const { status, body } = made.answer;
    expect(status < 400).toBe(taints !== undefined);
    if (taints === undefined) return;
    const { annotations } = body.metadata as { readonly annotations?: Readonly<Record<string, string>> };
    expect(taintsOf(body).map(formatTaint).toSorted()).toEqual(taints.toSorted());
    expect(annotations?.[ALLOW_REMOVAL_ANNOTATION]).toBe(allowRemoval);
  });

  it.each(SENT_DAEMON_SET_CASES)('agree: $why', async ({ added, ...one }) => {
    const policies = tolerationPolicies(one.policies);
    const compiled = compilePolicies(policies);
    const { daemonSets, request } = daemonSetRequest(one);
    await prepare(cp(), [], daemonSets);
    await rig.register(webhookEntries(policies), compiled);
    const made = await make(cp(), request, [], rig);
    if (!made) throw new Error('the API server does not take the DaemonSet');
    check(made, policies, compiled);
    expect(tolerationsOf(made.answer.body)).toEqual([...one.daemonSet.tolerations, ...added].map(withoutEmpty));
  });
});

/** Compares what the API server did with what the engine says. Gives what kind of request it was, for the tally. */
function check(made: Made, policies: readonly Policy[], compiled: PolicySet): string[] {
  const { request, answer, calls } = made;
  const expected = expectedCalls(request, policies, compiled);
  const { status, body } = answer;
  const { admission } = expected;
  return inCase(
    () => ({ request, policies, status, message: body.message, calls, admission }),
    () => compare(made, expected),
  );
}

function compare({ request, answer, calls }: Made, expected: ExpectedCalls): string[] {
  const { admission, mutate, validate, protects } = expected;
  const mutating = entriesOf(calls, 'mutate');
  const validating = entriesOf(calls, 'validate');
  const outcomes = admission.violations.map((one) => `outcome ${outcomeText(one)}`);
  const tally = [...new Set([...mutating, ...validating, ...outcomes, ...warned(admission.warnings)])];

  expect(mutating.length === 0 || countFits(mutating, mutate)).toBe(true);
  const denied = /^admission webhook "\S+" denied the request/.test(answer.body.message ?? '');
  if (answer.status >= 400 && !denied) {
    // NodeRestriction stands before the webhooks, and refuses much of what a node tries here.
    expect(answer.body.message).toContain('is not allowed to modify');
    return [...tally, 'refused by NodeRestriction'];
  }

  expect(countFits(mutating, mutate)).toBe(true);
  expect(countFits(validating, validate)).toBe(true);
  if (protects !== undefined) expect(validating.includes('protect.taintkeeper.dev')).toBe(protects);
  expect(denied ? 'denied' : 'passed').toBe(admission.result === 'denied' ? 'denied' : 'passed');
  expect(answer.warnings.toSorted()).toEqual(denied ? [] : admission.warnings.toSorted());
  // By the API server's own library, by ours and by a third one.
  if (!denied) expect(looks(answer.body)).toEqual(looks(admission.object));
  expect(applied(request.object, admission.patch)).toEqual(admission.object);
  return tally.length > 0 ? tally : ['no call'];
}

function entriesOf(calls: readonly Call[], phase: Call['phase']): string[] {
  return calls.filter((call) => call.phase === phase).map(({ entry }) => entry);
}

/** The parts that webhooks may change. The API server leaves out what is empty. */
function looks(object: unknown): object {
  const { metadata, spec } = object as {
    metadata: { annotations?: Readonly<Record<string, string>> };
    spec: { taints?: object[] };
  };
  // The API server counts templates of DaemonSets there, once more after mutation: one that is as it was again counts as none.
  const { 'deprecated.daemonset.template.generation': _, ...annotations } = metadata.annotations ?? {};
  return {
    annotations,
    taints: (spec.taints ?? []).map(withoutEmpty),
    tolerations: tolerationsOf(object),
  };
}
