/** A dry-run AdmissionReview that no policy is about: it changes nothing, and whoever answers it is a webhook that works. */
export interface SelfCheckReview {
  readonly body: string;
  /** Why the answer to it is none, or undefined if it is one. */
  refusal(status: number | undefined, answer: unknown): string | undefined;
}

export function selfCheckReview(): SelfCheckReview {
  const uid = `taintkeeper-self-check-${Date.now()}`;
  return {
    body: JSON.stringify({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: {
        uid,
        resource: { group: 'taintkeeper.dev', version: 'v1alpha1', resource: 'selfchecks' },
        operation: 'CREATE',
        userInfo: {},
        dryRun: true,
      },
    }),
    refusal(status, answer) {
      // It takes calls from known clients only, which we are not.
      if (status === 401) return undefined;
      const answered = (answer as { response?: { uid?: string } } | undefined)?.response?.uid;
      return status === 200 && answered === uid ? undefined : `it answered ${status}`;
    },
  };
}
