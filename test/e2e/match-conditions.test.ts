import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALLOW_REMOVAL_ANNOTATION } from '../../src/judge/allow-removal.ts';
import { outcomeText } from '../../src/judge/outcomes.ts';
import type { Policy } from '../../src/policy/policy.ts';
import { compilePolicies, type PolicySet } from '../../src/policy/policy-set.ts';
import type { TaintPolicySpec } from '../../src/policy/taint-policy.ts';
import { webhookEntries } from '../../src/webhooks/entries.ts';
import { makeClusterAdmin } from '../control-plane/cluster-admin.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { developer } from '../control-plane/users.ts';
import { applied } from '../fuzz/patches.ts';
import { inCase } from '../in-case.ts';
import { checkUntilAllOccurred, MAX_ROUNDS } from '../rounds.ts';
import {
  CALLS_AND_OUTCOMES,
  countFits,
  type ExpectedCalls,
  expectedCalls,
  warned,
} from '../unit/conditions/expected-calls.ts';
import { type NodeEdit, type NodeState, scenario } from '../unit/conditions/scenarios.ts';
import { type Made, make, prepare } from './match-conditions-requests.ts';
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
            const made = await make(cp(), rig, generated, nodes);
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

  const REQUIRED = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' } as const;
  const withSpec = (spec: Partial<TaintPolicySpec>): Policy[] => [
    { kind: 'TaintPolicy', name: 'p', spec: { mode: 'Deny', taints: [{ ...REQUIRED, ensure: 'Always' }], ...spec } },
  ];

  /** The update of one node, by a user who is no node. Gives the calls and outcomes, and the annotation after the request. */
  async function updated(policies: Policy[], node: NodeState, edit: Partial<NodeEdit>, user = 'autoscaler') {
    await prepare(cp(), [node], []);
    const compiled = compilePolicies(policies);
    await rig.register(webhookEntries(policies), compiled);
    const whole: NodeEdit = { labels: 'kept', allowRemoval: 'kept', stay: 0b11111, added: undefined, ...edit };
    const generated = { what: 'node update' as const, node: 0, edit: whole, user: { name: user, groups: [] } };
    const made = await make(cp(), rig, generated, [node]);
    if (!made) throw new Error('the API server does not take the update');
    const { annotations } = made.answer.body.metadata as { readonly annotations?: Readonly<Record<string, string>> };
    return { said: check(made, policies, compiled), annotation: annotations?.[ALLOW_REMOVAL_ANNOTATION] };
  }

  it.each<[what: string, before: string | undefined, sent: string | undefined, after: string]>([
    ['no entry', undefined, undefined, 'dedicated=gpu:NoSchedule'],
    ['an entry for another taint', undefined, 'other:NoSchedule', 'other:NoSchedule, dedicated=gpu:NoSchedule'],
    ['an entry of the same request', undefined, 'dedicated=gpu:NoSchedule', 'dedicated=gpu:NoSchedule'],
    [
      'an entry for another value',
      'dedicated=x:NoSchedule',
      'dedicated=x:NoSchedule',
      'dedicated=x:NoSchedule, dedicated=gpu:NoSchedule',
    ],
  ])(
    'agree on an exempt user who removes a required taint, with %s: the taint has an entry',
    async (_what, before, sent, after) => {
      const policies = withSpec({ exempt: { users: ['autoscaler'] } });
      const node = { labels: {}, taints: [REQUIRED], allowRemoval: before };
      const { said, annotation } = await updated(policies, node, { stay: 0, allowRemoval: sent });
      expect(said).toEqual(['restore.taintkeeper.dev', 'outcome allowed by exemption']);
      expect(annotation).toBe(after);
    },
  );

  it.each<[what: string, before: string | undefined, sent: string | undefined, outcome: string]>([
    ['an entry of an earlier request', 'dedicated=gpu:NoSchedule', 'dedicated=gpu:NoSchedule', 'allowed by annotation'],
    ['an entry that the request deletes', 'dedicated=gpu:NoSchedule', undefined, 'allowed by annotation'],
    ['an entry of the same request', undefined, 'dedicated=gpu:NoSchedule', 'denied'],
    ['an entry for another value', 'dedicated=x:NoSchedule', 'dedicated=x:NoSchedule', 'denied'],
    ['an entry without the value', 'dedicated:NoSchedule', 'dedicated:NoSchedule', 'denied'],
    ['an entry without the effect', 'dedicated=gpu', 'dedicated=gpu', 'denied'],
    ['an entry that cannot be read', 'dedicated=gpu:NoSchedule-', 'dedicated=gpu:NoSchedule-', 'denied'],
  ])('agree on a removal with %s', async (_what, before, sent, outcome) => {
    const node = { labels: {}, taints: [REQUIRED], allowRemoval: before };
    const { said } = await updated(withSpec({}), node, { stay: 0, allowRemoval: sent });
    expect(said).toContain(`outcome ${outcome}`);
  });

  it.each<[what: string, labels: NodeState['labels'] | 'kept', spec: Partial<TaintPolicySpec>]>([
    ['and is set', 'kept', {}],
    ['that the policy does not require, and is set', 'kept', { taints: [{ key: 'dedicated' }] }],
  ])('agree on a taint that an entry keeps off %s: the entry ends', async (_what, labels, spec) => {
    const node = { labels: {}, taints: [], allowRemoval: 'other:NoSchedule, dedicated=gpu:NoSchedule' };
    const { said, annotation } = await updated(withSpec(spec), node, { labels, added: REQUIRED });
    expect(said).toEqual(['restore.taintkeeper.dev']);
    expect(annotation).toBe('other:NoSchedule');
  });

  it.each<[what: string, allowRemoval: string | undefined, spec: Partial<TaintPolicySpec>, outcomes: string[]]>([
    ['gets its required taint', undefined, {}, ['restore.taintkeeper.dev', 'outcome added']],
    ['gets none that an entry keeps off', 'dedicated=gpu:NoSchedule', {}, ['restore.taintkeeper.dev']],
    [
      'gets none that would evict its pods',
      undefined,
      { taints: [{ ...REQUIRED, effect: 'NoExecute', ensure: 'Always' }] },
      ['no call'],
    ],
  ])('agree on a node that a changed label puts under a policy: it %s', async (_what, allowRemoval, spec, outcomes) => {
    const policies = withSpec({ nodeSelector: { matchLabels: { pool: 'gpu' } }, ...spec });
    const { said } = await updated(policies, { labels: {}, taints: [], allowRemoval }, { labels: { pool: 'gpu' } });
    expect(said).toEqual(outcomes);
  });

  it('agree on a DaemonSet whose name is still to be generated: its beginning counts', async () => {
    const policies: Policy[] = [
      {
        kind: 'TolerationPolicy',
        name: 'cni',
        spec: { mode: 'Mutate', daemonSets: { namespaces: ['*'], names: ['cni*'] } },
      },
    ];
    await rig.register(webhookEntries(policies), compilePolicies(policies));
    const create = async (generateName: string) => {
      const labels = { app: 'a' };
      const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'a' }] } };
      const body = { metadata: { generateName }, spec: { selector: { matchLabels: labels }, template } };
      const answer = await cp().request(developer, 'POST', '/apis/apps/v1/namespaces/default/daemonsets?dryRun=All', {
        body,
      });
      expect(answer.status).toBe(201);
      return { warnings: answer.warnings.length, calls: rig.takeCalls() };
    };
    expect(await create('cni-')).toEqual({
      warnings: 2,
      calls: [{ entry: 'tolerate.taintkeeper.dev', phase: 'mutate' }],
    });
    expect(await create('other-')).toEqual({ warnings: 0, calls: [] });
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
    spec: { taints?: object[]; template?: { spec: { tolerations?: object[] } } };
  };
  // The API server counts templates of DaemonSets there, once more after mutation: one that is as it was again counts as none.
  const { 'deprecated.daemonset.template.generation': _, ...annotations } = metadata.annotations ?? {};
  return {
    annotations,
    taints: (spec.taints ?? []).map(withoutEmpty),
    tolerations: (spec.template?.spec.tolerations ?? []).map(withoutEmpty),
  };
}

function withoutEmpty(item: object): object {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== ''));
}
