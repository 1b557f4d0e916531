import type { Operation } from 'fast-json-patch';
import jsonPatch from 'fast-json-patch';
import { allow, type Decision, type Phase, type Violation } from '../judge/decision.ts';
import type { DesiredNode } from '../judge/node-view.ts';
import { judgeDaemonSet } from '../judge/request/daemon-set.ts';
import { judgeNodeCreation } from '../judge/request/node-creation.ts';
import { judgeNodeUpdate } from '../judge/request/node-update.ts';
import { asDaemonSet, patchDaemonSet, sameTemplate, viewDaemonSet } from '../objects/daemon-set-object.ts';
import type { NodeObject } from '../objects/node-object.ts';
import { asNode, patchNode, viewNode, viewNodeBoot } from '../objects/node-object.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import { type AdmissionRequest, requesterOf } from './admission-review.ts';

/** The decision about an admission request. */
export interface Judgement {
  /** The object of the request. Undefined for a request to which no policy can apply. */
  readonly kind: 'Node' | 'DaemonSet' | undefined;
  readonly decision: Decision<unknown>;
  /** JSON patch (RFC 6902) for the request's object. Empty unless the decision is `patch`. */
  readonly patch: readonly Operation[];
}

const UNTOUCHED: Judgement = { kind: undefined, decision: allow(), patch: [] };

/**
 * Judges one request. Only CREATE and UPDATE of nodes and of apps' daemonsets count, without subresources.
 *
 * @throws MalformedObjectError if the object is not of the kind that its resource names
 */
export function judge(request: AdmissionRequest, phase: Phase, policies: PolicySet): Judgement {
  const { operation, resource, subResource } = request;
  if (subResource || (operation !== 'CREATE' && operation !== 'UPDATE')) return UNTOUCHED;
  if (resource.group === '' && resource.resource === 'nodes') return judgeNodeRequest(request, phase, policies);
  if (resource.group === 'apps' && resource.resource === 'daemonsets') {
    return judgeDaemonSetRequest(request, phase, policies);
  }
  return UNTOUCHED;
}

function judgeNodeRequest(request: AdmissionRequest, phase: Phase, { taintPolicies }: PolicySet): Judgement {
  const { name = '' } = request;
  const requester = requesterOf(request);
  const object = asNode(request.object, ['request', 'object']);
  const node = viewNode(object, name);
  if (request.operation === 'CREATE') {
    const created = { ...node, ...viewNodeBoot(object) };
    return nodeJudgement(object, judgeNodeCreation[phase]({ requester, node: created }, taintPolicies));
  }
  const oldNode = viewNode(asNode(request.oldObject, ['request', 'oldObject']), name);
  return nodeJudgement(object, judgeNodeUpdate[phase]({ requester, node, oldNode }, taintPolicies));
}

function nodeJudgement(object: NodeObject, decision: Decision<DesiredNode>): Judgement {
  return { kind: 'Node', decision, patch: decision.action === 'patch' ? patchNode(object, decision.desired) : [] };
}

function judgeDaemonSetRequest(request: AdmissionRequest, phase: Phase, policies: PolicySet): Judgement {
  const object = asDaemonSet(request.object, ['request', 'object']);
  const daemonSet = viewDaemonSet(object, request.namespace ?? '', request.name ?? '');
  const old = request.operation === 'UPDATE' ? asDaemonSet(request.oldObject, ['request', 'oldObject']) : undefined;
  // The comparison is deep, and validation does not need it.
  const running =
    old && phase === 'mutate'
      ? { tolerations: old.spec.template.spec.tolerations ?? [], sameTemplate: sameTemplate(old, object) }
      : undefined;
  const decision = judgeDaemonSet[phase]({ daemonSet, ...(running ? { running } : {}) }, policies);
  const patch = decision.action === 'patch' ? patchDaemonSet(object, decision.desired) : [];
  return { kind: 'DaemonSet', decision, patch };
}

/** The result of both phases of admission, mutation first. */
export interface Admission {
  readonly result: 'allowed' | 'patched' | 'denied';
  /** Why it is denied. */
  readonly message?: string;
  readonly violations: readonly Violation[];
  readonly warnings: readonly string[];
  readonly patch: readonly Operation[];
  /** The request's object with the patch. */
  readonly object: unknown;
}

/**
 * Judges a request as the API server calls the webhooks: mutation first, then validation of the result. The request does not change.
 * @throws MalformedObjectError
 */
export function admit(request: AdmissionRequest, policies: PolicySet): Admission {
  const mutation = judge(request, 'mutate', policies);
  const object = applyPatch(request.object, mutation.patch);
  const validation = judge({ ...request, object }, 'validate', policies);

  const found = {
    violations: [...mutation.decision.violations, ...validation.decision.violations],
    warnings: [...mutation.decision.warnings, ...validation.decision.warnings],
    patch: mutation.patch,
    object,
  };
  if (validation.decision.action === 'deny') {
    return { result: 'denied', message: validation.decision.message, ...found };
  }
  return { result: mutation.patch.length > 0 ? 'patched' : 'allowed', ...found };
}

function applyPatch(object: unknown, patch: readonly Operation[]): unknown {
  if (patch.length === 0) return object;
  const validateOperations = true;
  const mutateDocument = false;
  return jsonPatch.applyPatch(object, patch, validateOperations, mutateDocument).newDocument;
}
