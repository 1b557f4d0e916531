import { POLICY_API_GROUP, POLICY_VERSION } from '../../policy/policy.ts';

/** A dry-run AdmissionReview to which no policy applies. It changes nothing, and an answer shows that a webhook works. */
export interface SelfCheckReview {
  /** Where to send it, by POST. */
  readonly path: string;
  readonly body: string;
  /** Why the answer is invalid, or undefined if it is valid. */
  refusal(status: number | undefined, answer: unknown): string | undefined;
}

export function selfCheckReview(): SelfCheckReview {
  const uid = `taintkeeper-self-check-${Date.now()}`;
  return {
    path: '/validate',
    body: JSON.stringify({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: {
        uid,
        resource: { group: POLICY_API_GROUP, version: POLICY_VERSION, resource: 'selfchecks' },
        operation: 'CREATE',
        userInfo: {},
        dryRun: true,
      },
    }),
    refusal(status, answer) {
      // It accepts calls only from known clients, and this client is none.
      if (status === 401) return undefined;
      const answered = (answer as { response?: { uid?: string } } | undefined)?.response?.uid;
      return status === 200 && answered === uid ? undefined : `it answered ${status}`;
    },
  };
}
