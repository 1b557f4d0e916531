import { servedVersions } from '../../cluster/admission-registration/native-policies.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { ApiError } from '../../cluster/client/api-error.ts';
import { isOurs, OWN_SUFFIX } from '../../cluster/installation/own-names.ts';
import { type ConnectionFault, connectionFault } from './dial.ts';
import { failedReading, type Reading, readingOf, unreadable } from './reading.ts';
import type { Trial } from './trial.ts';

/**
 * The outcome of a {@link Trial}. `passed`: no response of the webhook, because it was not called, or the call failed and `failurePolicy`
 * ignores that. `failed`: the API server could not call a webhook.
 */
export type Admission =
  | { readonly outcome: 'answered' | 'passed'; readonly what: string }
  | { readonly outcome: 'failed'; readonly what: string; readonly webhook: string; readonly fault: ConnectionFault }
  /** Decided by a native policy of taintkeeper, which the API server evaluates itself. Only one that denies the request is known by name. */
  | { readonly outcome: 'answered natively'; readonly what: string; readonly policy?: string }
  /** There is no request that the policies deny or patch. */
  | { readonly outcome: 'nothing to try' };

/** Several webhooks may be called, one after the other, each with a timeout of 2 s. */
const TRIAL_TIMEOUT_MS = 8_000;

/** Sends a {@link Trial}. */
export async function sendTrial(client: ApiClient, trial: Trial): Promise<Reading<Admission>> {
  const { what, method, path, contentType, body } = trial;
  let warnings = '';
  try {
    const answer = await client.request(method, path, {
      query: { dryRun: 'All' },
      body,
      contentType,
      timeoutMs: TRIAL_TIMEOUT_MS,
      onHeaders: ({ warning }) => {
        warnings = String(warning ?? '');
      },
    });
    // The webhook's warnings begin with the policy. Those of native policies begin with the native policy.
    if (/"(Taint|Toleration)Policy /.test(warnings)) return readingOf({ outcome: 'answered', what });
    if (!trial.shows(answer)) return readingOf({ outcome: 'passed', what });
    const isNative = trial.isNative && (await changesNatively(client));
    return readingOf({ outcome: isNative ? 'answered natively' : 'answered', what });
  } catch (error) {
    return readRefusal(error, what);
  }
}

/** Whether native policies of this API server can change objects. Those of Kubernetes 1.35 or older only deny requests by default. */
async function changesNatively(client: ApiClient): Promise<boolean> {
  const { mutating } = await servedVersions(client);
  return mutating !== undefined;
}

/** The messages are those of k8s.io/apiserver/pkg/admission/plugin/webhook: `errors/statuserror.go`, and `ErrCallingWebhook`. */
export function readRefusal(error: unknown, what: string): Reading<Admission> {
  if (!(error instanceof ApiError)) return unreadable(error);
  const [, denier] = /admission webhook "([^"]*)" denied the request/.exec(error.message) ?? [];
  if (denier !== undefined) {
    return isOurs(denier)
      ? readingOf({ outcome: 'answered', what })
      : failedReading(`${what}, as a trial, is refused by ${denier}, which is not taintkeeper's`);
  }
  // `policyDecisionErrorMessage` of k8s.io/apiserver/pkg/admission/plugin/policy/validating.
  const [, native] =
    /ValidatingAdmissionPolicy '([^']*)' with binding '[^']*' denied request/.exec(error.message) ?? [];
  if (native !== undefined) {
    return native.includes(OWN_SUFFIX)
      ? readingOf({ outcome: 'answered natively', what, policy: native })
      : failedReading(
          `${what}, as a trial, is refused by ValidatingAdmissionPolicy ${native}, which is not taintkeeper's`,
        );
  }
  const [, webhook, reason = ''] = /failed calling webhook "([^"]*)": (.*)$/s.exec(error.message) ?? [];
  if (webhook !== undefined)
    return readingOf({ outcome: 'failed', what, webhook, fault: connectionFault(innermost(reason)) });
  return unreadable(error);
}

/** Removes the URL of the call, and the words around it. */
function innermost(reason: string): string {
  return reason.replace(/^failed to call webhook: /, '').replace(/^Post "[^"]*": /, '');
}
