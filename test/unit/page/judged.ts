import type { AdmissionRequest } from '../../../src/admission/admission-review.ts';
import { judgeRequest } from '../../../src/admission/judge-request.ts';
import type { Phase } from '../../../src/judge/decision.ts';
import type { JudgedRequest } from '../../../src/server/reviewer.ts';
import { policySet } from '../policy/policies.ts';

const POLICIES = policySet({
  taint: {
    deny: { mode: 'Deny', taints: [{ key: 'keep' }] },
    restore: { mode: 'Restore', taints: [{ key: 'dedicated' }] },
    audit: { mode: 'Audit', taints: [{ key: 'watched' }] },
  },
  toleration: { cni: { mode: 'Mutate', daemonSets: { namespaces: ['kube-system'] } } },
});

/** What the policies above say of a request, as the admission server hands it on. */
export function judged(request: AdmissionRequest, phase: Phase = 'mutate', origin = '10.0.0.1'): JudgedRequest {
  return { phase, request, judgement: judgeRequest(request, phase, POLICIES), origin };
}

export const taint = (key: string, value = '') => ({ key, ...(value ? { value } : {}), effect: 'NoSchedule' });

export const nodeObject = (taints: readonly object[], metadata: object = {}) => ({
  metadata: { name: 'n1', ...metadata },
  spec: { taints },
});
