import { type Admission, admit, judge } from '../../../src/admission/admit.ts';
import type { AdmissionRequest } from '../../../src/admission/review.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../../../src/judge/allow-removal.ts';
import type { Decision, Phase } from '../../../src/judge/decision.ts';
import { type RecordedTaint, withRecord } from '../../../src/judge/node-record.ts';
import type { NodeView } from '../../../src/judge/node-view.ts';
import type { Outcome } from '../../../src/judge/outcomes.ts';
import { additionRulings } from '../../../src/judge/rulings.ts';
import { removedTaints, type Taint } from '../../../src/kubernetes/taint.ts';
import { asNode, viewNode } from '../../../src/objects/node-object.ts';
import type { Policy } from '../../../src/policy/policy.ts';
import { type CompiledTaintPolicy, ONCE_ESTABLISHED, type PolicySet } from '../../../src/policy/policy-set.ts';
import { failurePolicyOf } from '../../../src/policy/taint-policy.ts';
import { recordListing } from '../judge/established.ts';
import { taintsOf } from './objects.ts';
import { recordsAt, recordsOf } from './records-of-generated-nodes.ts';

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

/** What scenarios must lead to, to prove something about all of it. */
export const CALLS_AND_OUTCOMES: readonly string[] = [
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

/** Whether a phase must call a webhook, and whether it may. The latter takes several answers of the engine, and is seldom asked for. */
export interface ExpectedCall {
  readonly must: boolean;
  readonly may: () => boolean;
}

/** Whether a phase called as many webhooks as it must, and no more than it may: never two. */
export function countFits(called: readonly string[], { must, may }: ExpectedCall): boolean {
  return called.length === 1 ? must || may() : called.length === 0 && !must;
}

/** The calls that the engine's answers to a request need. One that may be, and need not: conditions cannot know it exactly. */
export interface ExpectedCalls {
  readonly admission: Admission;
  readonly mutate: ExpectedCall;
  readonly validate: ExpectedCall;
  /** Whether it is `protect.taintkeeper.dev` that validates. Undefined where nothing says so: for all but updates of nodes. */
  readonly protects: boolean | undefined;
}

/** @param request one with the annotations of records-of-generated-nodes.ts */
export function expectedCalls(
  request: AdmissionRequest,
  policies: readonly Policy[],
  compiled: PolicySet,
): ExpectedCalls {
  const records = recordsAt(request);
  const admission = admit(request, compiled, records);
  const mutation = judge(request, 'mutate', compiled, records).decision;
  const validated = { ...request, object: admission.object };
  const validation = judge(validated, 'validate', compiled, records).decision;
  // No condition can read records: whatever they listed, it is true of what the engine would have something to say of.
  const whatever = recordsThatMatter(request);
  const otherwise = (phase: Phase) =>
    whatever.some((some) => says(judge(phase === 'mutate' ? request : validated, phase, compiled, some).decision));
  // Nor do the conditions compare the entries of the annotation with added taints.
  const mayMutate = () => says(validation) || otherwise('mutate') || otherwise('validate') || addsToAnnounced(request);
  // The conditions do not look at what was announced either, where a node leaves a policy that restricts Unselection.
  const mayValidate = () =>
    otherwise('validate') ||
    judge(withoutRelease(validated), 'validate', compiled, records).decision.violations.some(
      ({ outcome }) => outcome === 'unselection-denied',
    );
  const isNodeUpdate = request.resource.resource === 'nodes' && request.operation === 'UPDATE';
  return {
    admission,
    mutate: { must: says(mutation), may: mayMutate },
    validate: { must: says(validation), may: mayValidate },
    protects: isNodeUpdate ? isAgainstFail(request, admission, policies, compiled) : undefined,
  };
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
