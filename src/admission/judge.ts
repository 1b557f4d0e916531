import type { Operation } from 'fast-json-patch';
import { judgeDaemonSet } from '../policy/daemon-set.ts';
import { allow, type Decision, type Phase } from '../policy/decision.ts';
import { judgeNode } from '../policy/node.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import { asDaemonSet, patchDaemonSet, sameTemplate, viewDaemonSet } from './daemon-set-object.ts';
import { asNode, patchNode, roomOn, viewNode } from './node-object.ts';
import type { AdmissionRequest } from './review.ts';

/** What an admission request came to. */
export interface Judgement {
  /** What the request is about, or undefined for a request that no policy can be about. */
  readonly kind: 'Node' | 'DaemonSet' | undefined;
  readonly decision: Decision<unknown>;
  /** JSON patch (RFC 6902) for the request's object; empty unless the verdict is `patch`. */
  readonly patch: readonly Operation[];
}

const UNTOUCHED: Judgement = { kind: undefined, decision: allow(), patch: [] };

/**
 * Judges one request. Only CREATE and UPDATE of nodes and of apps' daemonsets, subresources left out, are looked at.
 * @throws MalformedObjectError when the object is not what its resource says
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

function judgeNodeRequest(request: AdmissionRequest, phase: Phase, policies: PolicySet): Judgement {
  const { name = '', userInfo } = request;
  const requester = { username: userInfo.username ?? '', groups: userInfo.groups ?? [] };
  const object = asNode(request.object, ['request', 'object']);
  // Validation has no use for the room, and counting takes longer than judging.
  const node = { ...viewNode(object, name), ...(phase === 'mutate' ? { room: roomOn(object) } : {}) };
  const decision =
    request.operation === 'CREATE'
      ? judgeNode({ operation: 'CREATE', phase, requester, node }, policies)
      : judgeNode(
          {
            operation: 'UPDATE',
            phase,
            requester,
            node,
            oldNode: viewNode(asNode(request.oldObject, ['request', 'oldObject']), name),
          },
          policies,
        );
  const patch = decision.verdict === 'patch' ? patchNode(object, decision.desired) : [];
  return { kind: 'Node', decision, patch };
}

function judgeDaemonSetRequest(request: AdmissionRequest, phase: Phase, policies: PolicySet): Judgement {
  const object = asDaemonSet(request.object, ['request', 'object']);
  const daemonSet = viewDaemonSet(object, request.namespace ?? '', request.name ?? '');
  const old = request.operation === 'UPDATE' ? asDaemonSet(request.oldObject, ['request', 'oldObject']) : undefined;
  // The comparison is deep, and validation has no use for it.
  const running =
    old && phase === 'mutate'
      ? { tolerations: old.spec.template.spec.tolerations ?? [], sameTemplate: sameTemplate(old, object) }
      : undefined;
  const decision = judgeDaemonSet({ phase, daemonSet, ...(running ? { running } : {}) }, policies);
  const patch = decision.verdict === 'patch' ? patchDaemonSet(object, decision.desired) : [];
  return { kind: 'DaemonSet', decision, patch };
}
