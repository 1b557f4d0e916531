import { allow, type Decision, type Phase } from '../judge/decision.ts';
import type { DesiredNode } from '../judge/node-view.ts';
import { judgeDaemonSet } from '../judge/request/daemon-set.ts';
import { judgeNodeCreation } from '../judge/request/node-creation.ts';
import { judgeNodeUpdate } from '../judge/request/node-update.ts';
import type { Operation } from '../kubernetes/json-patch.ts';
import { asDaemonSet, patchDaemonSet, sameTemplate, viewDaemonSet } from '../objects/daemon-set-object.ts';
import { asNode, type NodeObject, patchNode, viewNode, viewNodeBoot } from '../objects/node-object.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import { type AdmissionRequest, requesterOf } from './admission-review.ts';

/** The decision about an admission request in one phase. */
export interface Judgement {
  /** The object of the request. Undefined for a request to which no policy can apply. */
  readonly kind: 'Node' | 'DaemonSet' | undefined;
  readonly decision: Decision<unknown>;
  /** JSON patch (RFC 6902) for the request's object. Empty unless the decision is `patch`. */
  readonly patch: readonly Operation[];
}

const UNTOUCHED: Judgement = { kind: undefined, decision: allow(), patch: [] };

/**
 * Judges the request of one call of a webhook. Only CREATE and UPDATE of nodes and of apps' daemonsets count, without subresources.
 *
 * @throws MalformedObjectError if the object is not of the kind that its resource names
 */
export function judgeRequest(request: AdmissionRequest, phase: Phase, policies: PolicySet): Judgement {
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
