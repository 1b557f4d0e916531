import type { AdmissionRequest } from '../../../src/admission/admission-review.ts';
import { judgeRequest } from '../../../src/admission/judge-request.ts';
import { type Admission, simulateAdmission } from '../../../src/admission/simulate-admission.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../../../src/judge/allow-removal.ts';
import type { Decision } from '../../../src/judge/decision.ts';
import type { NodeView } from '../../../src/judge/node-view.ts';
import { judgedRemovals } from '../../../src/judge/request/node-changes.ts';
import { taintsOnlyIn } from '../../../src/kubernetes/taint.ts';
import { asNode, viewNode } from '../../../src/objects/node-object.ts';
import type { CompiledTaintPolicy } from '../../../src/policy/compiled-taint-policy.ts';
import type { Policy } from '../../../src/policy/policy.ts';
import type { PolicySet } from '../../../src/policy/policy-set.ts';
import { failurePolicyOf } from '../../../src/policy/taint-policy.ts';
import { taintsOf } from './objects.ts';

/** Those of requests that are judged without --audit, as `outcomeText` has them. */
export const OUTCOMES: readonly string[] = [
  'denied',
  'restored',
  'added',
  'missing',
  'audited',
  'allowed by annotation',
  'allowed by exemption',
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
  'loses a startup taint',
  ...OUTCOMES.map((outcome) => `outcome ${outcome}`),
];

/** What warnings alone show, in the words of {@link CALLS_AND_OUTCOMES}. */
export function warned(warnings: readonly string[]): string[] {
  return warnings.some((text) => text.includes('will lose startup taint')) ? ['loses a startup taint'] : [];
}

/** Whether a phase must call a webhook, and whether it may. */
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

export function expectedCalls(
  request: AdmissionRequest,
  policies: readonly Policy[],
  compiled: PolicySet,
): ExpectedCalls {
  const admission = simulateAdmission(request, compiled);
  const mutation = judgeRequest(request, 'mutate', compiled).decision;
  const validation = judgeRequest({ ...request, object: admission.object }, 'validate', compiled).decision;
  const isNodeUpdate = request.resource.resource === 'nodes' && request.operation === 'UPDATE';
  return {
    admission,
    mutate: {
      must: says(mutation),
      // What is denied is not restored; and the conditions compare neither entries with added taints, nor policies with each other.
      may: () => says(validation) || addsToAllowed(request) || (isNodeUpdate && begins(request, compiled)),
    },
    validate: { must: says(validation), may: () => false },
    protects: isNodeUpdate ? isAgainstFail(request, admission, policies, compiled) : undefined,
  };
}

/** Whether the update adds taints to a node with the annotation. */
function addsToAllowed({ resource, object, oldObject }: AdmissionRequest): boolean {
  if (resource.resource !== 'nodes' || !oldObject) return false;
  const { annotations } = (object as { readonly metadata: { readonly annotations?: Record<string, string> } }).metadata;
  return (
    (annotations?.[ALLOW_REMOVAL_ANNOTATION] ?? '') !== '' &&
    taintsOnlyIn(taintsOf(object), taintsOf(oldObject)).length > 0
  );
}

/** Whether a policy that sets required taints begins to select the node. */
function begins(request: AdmissionRequest, { taintPolicies }: PolicySet): boolean {
  const [oldNode, node] = nodesOf(request.oldObject, request.object);
  return taintPolicies.some(
    (policy) =>
      policy.mode !== 'Audit' &&
      policy.required.length > 0 &&
      policy.selectsNode(node.labels) &&
      !policy.selectsNode(oldNode.labels),
  );
}

function nodesOf(...objects: readonly [unknown, unknown]): readonly [NodeView, NodeView] {
  const [oldObject, object] = objects;
  return [viewNode(asNode(oldObject, []), ''), viewNode(asNode(object, []), '')];
}

function says({ action, violations, warnings }: Decision<unknown>): boolean {
  return action !== 'allow' || violations.length + warnings.length > 0;
}

/** Whether the update removes a taint against a policy that fails without the webhook, by a user whom it does not exempt. */
function isAgainstFail(
  { oldObject, userInfo }: AdmissionRequest,
  { object }: Admission,
  policies: readonly Policy[],
  { taintPolicies }: PolicySet,
): boolean {
  const [oldNode, node] = nodesOf(oldObject, object);
  const requester = { username: userInfo.username ?? '', groups: userInfo.groups ?? [] };
  const selecting = taintPolicies.filter((policy) => selects(policy, oldNode, node));
  const binding = selecting.filter((policy) => {
    const { spec } = policies.find(({ kind, name }) => kind === 'TaintPolicy' && name === policy.name) ?? {};
    const fails = spec !== undefined && 'taints' in spec && failurePolicyOf(spec, policy.mode) === 'Fail';
    return fails && !policy.exempts(requester);
  });
  const removed = judgedRemovals({ node }, taintsOnlyIn(oldNode.taints, node.taints), selecting);
  return binding.some((policy) => removed.some((taint) => policy.protectingRule(taint) !== undefined));
}

function selects(policy: CompiledTaintPolicy, ...nodes: readonly NodeView[]): boolean {
  return nodes.some(({ labels }) => policy.selectsNode(labels));
}
