import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Admission, admit, judge } from '../../src/admission/admit.ts';
import type { AdmissionRequest } from '../../src/admission/review.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../../src/judge/allow-removal.ts';
import type { Decision } from '../../src/judge/decision.ts';
import { type RecordedTaint, withRecord } from '../../src/judge/node-record.ts';
import type { NodeView } from '../../src/judge/node-view.ts';
import type { Outcome } from '../../src/judge/outcomes.ts';
import { additionRulings } from '../../src/judge/rulings.ts';
import { removedTaints, type Taint } from '../../src/kubernetes/taint.ts';
import { asNode, viewNode } from '../../src/objects/node-object.ts';
import type { Policy } from '../../src/policy/policy.ts';
import {
  type CompiledTaintPolicy,
  compilePolicies,
  ONCE_ESTABLISHED,
  type PolicySet,
} from '../../src/policy/policy-set.ts';
import { failurePolicyOf } from '../../src/policy/taint-policy.ts';
import { webhookEntries } from '../../src/webhooks/entries.ts';
import { makeClusterAdmin } from '../control-plane/cluster-admin.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { developer } from '../control-plane/users.ts';
import { applied } from '../fuzz/patches.ts';
import { isExploring, seed } from '../seed.ts';
import { recordListing } from '../unit/judge/established.ts';
import { type NodeEdit, scenario } from './match-conditions-cases.ts';
import { type Made, make, prepare } from './match-conditions-requests.ts';
import { type Call, createEntryRig, type EntryRig } from './match-conditions-rig.ts';
import { recordsAt, recordsOf } from './records-of-generated-nodes.ts';

/**
 * Sets of policies, for each of which the API server has to be told anew. As many more
 * as one likes are tried with TAINTKEEPER_POLICY_SETS, which also prints what they led to.
 */
const MORE_POLICY_SETS = process.env.TAINTKEEPER_POLICY_SETS;
const POLICY_SETS = Number(MORE_POLICY_SETS ?? 16);
const SEED = 614;
/** More sets are tried until every outcome has occurred: some are rare. */
const MAX_ROUNDS = 6;
const REQUESTS_PER_SET = 60;
const SET_TIMEOUT_MS = 20_000;

const OUTCOMES: readonly Outcome[] = [
  'denied',
  'restored',
  'added',
  'missing',
  'audited',
  'announced',
  'allowed-by-annotation',
  'exempt',
  'unselected',
  'addition-denied',
  'reverted',
  'addition-audited',
  'addition-exempt',
  'unselection-denied',
  'unselection-audited',
];

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
      const tally = new Map<string, number>();
      const count = (what: string) => tally.set(what, (tally.get(what) ?? 0) + 1);
      const property = fc.asyncProperty(
        scenario(REQUESTS_PER_SET),
        async ({ policies, audit, nodes, daemonSets, requests }) => {
          const compiled = compilePolicies(policies, { audit });
          await prepare(cp(), nodes, daemonSets);
          await rig.register(webhookEntries(policies, { audit }), compiled);
          for (const generated of requests) {
            const made = await make(cp(), rig, generated, nodes);
            if (made === undefined) count('not taken by the API server');
            else for (const what of check(made, policies, compiled)) count(what);
          }
        },
      );
      // Without one of these, the generated cases would prove nothing about it.
      const all = [
        'register.taintkeeper.dev',
        'restore.taintkeeper.dev',
        'tolerate.taintkeeper.dev',
        'protect.taintkeeper.dev',
        'report.taintkeeper.dev',
        'report-registration.taintkeeper.dev',
        'report-tolerations.taintkeeper.dev',
        'no call',
        ...OUTCOMES.map((outcome) => `outcome ${outcome}`),
      ];
      const missing = () => (isExploring() ? [] : all.filter((what) => !tally.has(what)));
      for (let round = 0; round === 0 || (round < MAX_ROUNDS && missing().length > 0); round++) {
        await fc.assert(property, { numRuns: POLICY_SETS, endOnFailure: true, seed: seed(SEED) + round });
      }
      if (MORE_POLICY_SETS) {
        process.stderr.write(`${[...tally].map(([what, times]) => `${what}: ${times}`).join('\n')}\n`);
      }
      expect(missing()).toEqual([]);
    },
    MAX_ROUNDS * POLICY_SETS * SET_TIMEOUT_MS,
  );

  it.each<[what: string, allowRemoval: string | undefined, annotation: string]>([
    ['announces and removes at once: a notice takes the place', 'dedicated:NoSchedule', 'dedicated=:NoSchedule-'],
    ['removes a taint, which leaves a notice', undefined, 'dedicated=:NoSchedule-'],
    ['removes a taint beside another entry', 'other:NoSchedule', 'other:NoSchedule, dedicated=:NoSchedule-'],
  ])('agree on an exempt user who %s', async (_what, allowRemoval, annotation) => {
    const taint = { key: 'dedicated', value: '', effect: 'NoSchedule' };
    const policies: Policy[] = [
      {
        kind: 'TaintPolicy',
        name: 'p',
        spec: {
          mode: 'Deny',
          taints: [{ key: 'dedicated', restrict: ['Removal'] }],
          exempt: { users: ['autoscaler'] },
        },
      },
    ];
    const nodes = [{ labels: {}, taints: [taint], allowRemoval: undefined }];
    await prepare(cp(), nodes, []);
    const compiled = compilePolicies(policies);
    await rig.register(webhookEntries(policies), compiled);
    const edit: NodeEdit = { labels: 'kept', allowRemoval, stay: 0, added: undefined };
    const user = { name: 'autoscaler', groups: [] };
    const made = await make(cp(), rig, { what: 'node update', node: 0, edit, user }, nodes);
    expect(made && check(made, policies, compiled)).toEqual(['restore.taintkeeper.dev', 'outcome exempt']);
    expect(made?.answer.body.metadata.annotations).toEqual({ [ALLOW_REMOVAL_ANNOTATION]: annotation });
  });

  it('agree on a taint that is added again: the notice of its removal is deleted', async () => {
    const policies: Policy[] = [
      {
        kind: 'TaintPolicy',
        name: 'p',
        spec: { mode: 'Deny', taints: [{ key: 'dedicated', restrict: ['Removal'] }] },
      },
    ];
    const nodes = [{ labels: {}, taints: [], allowRemoval: 'other:NoSchedule, dedicated:NoSchedule-' }];
    await prepare(cp(), nodes, []);
    const compiled = compilePolicies(policies);
    await rig.register(webhookEntries(policies), compiled);
    const added = { key: 'dedicated', value: 'x', effect: 'NoSchedule' };
    const edit: NodeEdit = { labels: 'kept', allowRemoval: 'kept', stay: 0, added };
    const user = { name: 'autoscaler', groups: [] };
    const made = await make(cp(), rig, { what: 'node update', node: 0, edit, user }, nodes);
    expect(made && check(made, policies, compiled)).toEqual(['restore.taintkeeper.dev']);
    expect(made?.answer.body.metadata.annotations).toEqual({ [ALLOW_REMOVAL_ANNOTATION]: 'other:NoSchedule' });
  });

  it('let through every new node that may have been deleted before: what it carried, only the engine knows', async () => {
    const surviving = (name: string, mode: 'Restore' | 'Audit'): Policy => ({
      kind: 'TaintPolicy',
      name,
      spec: {
        mode,
        nodeSelector: { matchLabels: { pool: name } },
        taints: [{ key: 'dedicated', restrict: ['Removal'] }],
        deletedNodeRetentionSeconds: 3600,
      },
    });
    const policies = [surviving('restoring', 'Restore'), surviving('watching', 'Audit')];
    await rig.register(webhookEntries(policies), compilePolicies(policies));
    const create = async (pool: string) => {
      const body = { metadata: { name: `new-${pool}`, labels: { pool } } };
      expect((await cp().request(developer, 'POST', '/api/v1/nodes?dryRun=All', { body })).status).toBe(201);
      return rig.takeCalls().map(({ entry }) => entry.replace('.taintkeeper.dev', ''));
    };
    expect(await create('restoring')).toEqual(['register', 'report-registration']);
    expect(await create('watching')).toEqual(['report-registration']);
    expect(await create('other')).toEqual([]);
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
function check({ request, answer, calls }: Made, policies: readonly Policy[], compiled: PolicySet): string[] {
  const records = recordsAt(request);
  const admission = admit(request, compiled, records);
  const mutation = judge(request, 'mutate', compiled, records).decision;
  const validated = { ...request, object: admission.object };
  const validation = judge(validated, 'validate', compiled, records).decision;
  // No condition can read records: whatever they listed, it is true of what the engine would have something to say of.
  const whatever = recordsThatMatter(request);
  const mutating = entriesOf(calls, 'mutate');
  const validating = entriesOf(calls, 'validate');
  const context = () =>
    JSON.stringify(
      { request, policies, status: answer.status, message: answer.body.message, calls, admission },
      null,
      1,
    );
  const outcomes = admission.violations.map(({ outcome }) => `outcome ${outcome}`);
  const tally = [...new Set([...mutating, ...validating, ...outcomes])];

  const mutations = whatever.map((some) => judge(request, 'mutate', compiled, some).decision);
  const otherwise = whatever.map((some) => judge(validated, 'validate', compiled, some).decision);
  // Nor do the conditions compare the entries of the annotation with added taints.
  const mayMutate = [mutation, validation, ...mutations, ...otherwise].some(says) || addsToAnnounced(request);

  expect(mutating.length, context()).toBeLessThanOrEqual(1);
  if (!mayMutate) expect(mutating, context()).toEqual([]);

  const denied = /^admission webhook "\S+" denied the request/.test(answer.body.message ?? '');
  if (answer.status >= 400 && !denied) {
    // NodeRestriction stands before the webhooks, and refuses much of what a node tries here.
    expect(answer.body.message, context()).toContain('is not allowed to modify');
    return [...tally, 'refused by NodeRestriction'];
  }

  if (says(mutation)) expect(mutating, context()).toHaveLength(1);
  // The conditions do not look at what was announced either, where a node leaves a policy that restricts Unselection.
  const unannounced = judge(withoutRelease(validated), 'validate', compiled, records).decision;
  const mayValidate =
    [validation, ...otherwise].some(says) ||
    unannounced.violations.some(({ outcome }) => outcome === 'unselection-denied');
  if (says(validation) || !mayValidate) expect(validating, context()).toHaveLength(says(validation) ? 1 : 0);
  if (request.resource.resource === 'nodes' && request.operation === 'UPDATE') {
    const mustFail = isAgainstFail(request, admission, policies, compiled);
    expect(validating.includes('protect.taintkeeper.dev'), context()).toBe(mustFail);
  }
  expect(denied ? 'denied' : 'passed', context()).toBe(admission.result === 'denied' ? 'denied' : 'passed');
  expect(answer.warnings.toSorted(), context()).toEqual(denied ? [] : admission.warnings.toSorted());
  // By the API server's own library, by ours and by a third one.
  if (!denied) expect(looks(answer.body), context()).toEqual(looks(admission.object));
  expect(applied(request.object, admission.patch), context()).toEqual(admission.object);
  return tally.length > 0 ? tally : ['no call'];
}

function entriesOf(calls: readonly Call[], phase: Call['phase']): string[] {
  return calls.filter((call) => call.phase === phase).map(({ entry }) => entry);
}

/** The request as it would be if no removal had been announced. */
function withoutRelease(request: AdmissionRequest): AdmissionRequest {
  const { object, oldObject } = request;
  return {
    ...request,
    object: without(ALLOW_REMOVAL_ANNOTATION, object),
    oldObject: without(ALLOW_REMOVAL_ANNOTATION, oldObject),
  };
}

function without(annotation: string, object: unknown): unknown {
  if (object === null || object === undefined) return object;
  const { metadata, ...rest } = object as NodeObject;
  const { [annotation]: _, ...annotations } = metadata.annotations ?? {};
  return { ...rest, metadata: { ...metadata, annotations } };
}

/**
 * Records of the node that say of all that it carried, and all that it is to carry, that it is to carry it, or that it was removed with
 * permission; and none.
 */
function recordsThatMatter({ object, oldObject }: AdmissionRequest) {
  const taints = [oldObject, object].flatMap((one) => taintsOf(one)).map(asRecorded);
  return [recordsOf(oldObject, taints), recordsOf(oldObject, taints.map(asRemoved)), undefined];
}

function asRecorded({ key, value, effect }: Taint): RecordedTaint {
  return { key, value: value ?? '', effect, policies: [] };
}

function asRemoved(taint: RecordedTaint): RecordedTaint {
  return { ...taint, removedAt: 0 };
}

function taintsOf(object: unknown): readonly Taint[] {
  return (object as NodeObject | null | undefined)?.spec.taints ?? [];
}

/** Whether the update adds taints to a node on which removals are announced. */
function addsToAnnounced({ resource, object, oldObject }: AdmissionRequest): boolean {
  if (resource.resource !== 'nodes' || !oldObject) return false;
  const announced = (oldObject as NodeObject).metadata.annotations?.[ALLOW_REMOVAL_ANNOTATION] ?? '';
  return announced !== '' && removedTaints(taintsOf(object), taintsOf(oldObject)).length > 0;
}

function says({ action, violations, warnings }: Decision<unknown>): boolean {
  return action !== 'allow' || violations.length + warnings.length > 0;
}

interface NodeObject {
  readonly metadata: { readonly labels?: Record<string, string>; readonly annotations?: Record<string, string> };
  readonly spec: { readonly taints?: readonly Taint[] };
}

/**
 * Whether the update removes or adds a taint against a policy that fails without the webhook, or leaves it, by somebody whom it does not
 * exempt.
 */
function isAgainstFail(
  { oldObject, userInfo }: AdmissionRequest,
  { object }: Admission,
  policies: readonly Policy[],
  { taintPolicies }: PolicySet,
): boolean {
  const [oldNode, node] = [oldObject, object].map((one) => viewNode(asNode(one, []), ''));
  if (!oldNode || !node) throw new Error('no nodes');
  const requester = { username: userInfo.username ?? '', groups: userInfo.groups ?? [] };
  const failing = taintPolicies.filter((policy) => {
    const { spec } = policies.find(({ kind, name }) => kind === 'TaintPolicy' && name === policy.name) ?? {};
    return spec !== undefined && 'taints' in spec && failurePolicyOf(spec, policy.mode) === 'Fail';
  });
  const binding = failing.filter((policy) => !policy.exempts(requester));
  const update = {
    phase: 'validate',
    requester,
    node,
    // A required taint that somebody may remove counts as an addition: only the record says whether it was removed.
    oldNode: withRecord(
      oldNode,
      { ...recordListing(undefined), taints: node.taints.map(asRecorded).map(asRemoved) },
      'u1',
    ),
  } as const;
  const selects = (policy: CompiledTaintPolicy, ...nodes: NodeView[]) =>
    nodes.some(({ labels }) => policy.selectsNode(labels));
  const removed = removedTaints(oldNode.taints, node.taints);
  // Whoever guards them, what is required on the node counts for all.
  const additions = additionRulings(
    update,
    removedTaints(node.taints, oldNode.taints),
    taintPolicies.filter((policy) => selects(policy, oldNode, node)),
  ).map(({ taint }) => taint);
  return binding.some((policy) => {
    const isUnselected = selects(policy, oldNode) && !selects(policy, node);
    if (isUnselected && node.taints.some((taint) => policy.unselectionRestrictedBy(taint) !== undefined)) return true;
    return (
      selects(policy, oldNode, node) &&
      (removed.some((taint) => policy.removalRestrictedBy(taint, ONCE_ESTABLISHED) !== undefined) ||
        additions.some(policy.additionRestrictedBy))
    );
  });
}

/** The parts that webhooks may change. The API server leaves out what is empty. */
function looks(object: unknown): object {
  const { metadata, spec } = object as {
    metadata: { annotations?: object };
    spec: { taints?: object[]; template?: { spec: { tolerations?: object[] } } };
  };
  return {
    annotations: metadata.annotations ?? {},
    taints: (spec.taints ?? []).map(withoutEmpty),
    tolerations: (spec.template?.spec.tolerations ?? []).map(withoutEmpty),
  };
}

function withoutEmpty(item: object): object {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== ''));
}
