import type { AdmissionRequest } from '../../../src/admission/admission-review.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { Policy } from '../../../src/policy/policy.ts';
import { webhookEntries } from '../../../src/webhooks/webhook-entries.ts';
import { calledWebhooks } from './called-webhooks.ts';

/** A node `n1`. */
export const nodeWith = (taints: readonly Taint[], labels: Readonly<Record<string, string>> = {}) => ({
  metadata: { name: 'n1', labels },
  spec: { taints },
});

/** Which webhooks an API server calls about a request for a node in both phases, such as `protect`. */
export function callsAbout(
  policies: readonly Policy[],
): (request: Pick<AdmissionRequest, 'operation' | 'object' | 'oldObject'>, username?: string) => string[] {
  const called = calledWebhooks(webhookEntries(policies));
  return (request, username = 'dev@example.com') => {
    const whole = {
      uid: 'as-good-as-any',
      resource: { group: '', version: 'v1', resource: 'nodes' },
      name: 'n1',
      userInfo: { username, groups: ['system:authenticated'] },
      ...request,
    };
    return (['mutate', 'validate'] as const)
      .flatMap((phase) => called(whole, phase))
      .map((name) => name.split('.')[0] ?? '');
  };
}
