import jsonPatch from 'fast-json-patch';
import type { Violation } from '../judge/violation.ts';
import type { Operation } from '../kubernetes/json-patch.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import type { AdmissionRequest } from './admission-review.ts';
import { judgeRequest } from './judge-request.ts';

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
 * What the API server would do with a request: it calls the webhooks, mutation first, then validation of the result. `taintkeeper review` calls it. The
 * request does not change.
 * @throws MalformedObjectError
 */
export function simulateAdmission(request: AdmissionRequest, policies: PolicySet): Admission {
  const mutation = judgeRequest(request, 'mutate', policies);
  const object = applyPatch(request.object, mutation.patch);
  const validation = judgeRequest({ ...request, object }, 'validate', policies);

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
