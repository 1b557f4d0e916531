import jsonPatch, { type Operation } from 'fast-json-patch';
import type { Violation } from '../policy/decision.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import { judge } from './judge.ts';
import type { AdmissionRequest } from './review.ts';

/** What both phases of admission come to, one after the other. */
export interface Admission {
  readonly verdict: 'allowed' | 'patched' | 'denied';
  /** Why it is denied. */
  readonly message?: string;
  readonly violations: readonly Violation[];
  readonly warnings: readonly string[];
  readonly patch: readonly Operation[];
  /** The request's object, patched. */
  readonly object: unknown;
}

/**
 * Judges a request as the API server would have it judged: mutation first, then validation of what came out. The request
 * is left as it is.
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
  if (validation.decision.verdict === 'deny') {
    return { verdict: 'denied', message: validation.decision.message, ...found };
  }
  return { verdict: mutation.patch.length > 0 ? 'patched' : 'allowed', ...found };
}

function applyPatch(object: unknown, patch: readonly Operation[]): unknown {
  if (patch.length === 0) return object;
  const validateOperations = true;
  const mutateDocument = false;
  return jsonPatch.applyPatch(object, patch, validateOperations, mutateDocument).newDocument;
}
