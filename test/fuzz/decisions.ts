import { judge } from '../../src/admission/admit.ts';
import { decodeReview } from '../../src/admission/review.ts';
import { MalformedObjectError } from '../../src/objects/object-meta.ts';
import type { PolicySet } from '../../src/policy/policy-set.ts';

/**
 * The decisions on a review in both phases, or why there is none. Of a patch, only where it changes something: an excerpt does not keep
 * fields that Kubernetes does not have.
 */
export function decisionsOn(review: unknown, policies: PolicySet): unknown {
  const decoded = decodeReview(review);
  if (!decoded.ok) return decoded;
  try {
    return (['mutate', 'validate'] as const).map((phase) => {
      const { decision, patch } = judge(decoded.request, phase, policies);
      const { action, violations, warnings } = decision;
      return { action, violations, warnings, places: patch.map(({ op, path }) => `${op} ${path}`) };
    });
  } catch (error) {
    if (!(error instanceof MalformedObjectError)) throw error;
    return error.name;
  }
}
