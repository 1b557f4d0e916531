import { ADMISSION_API_VERSION } from './admission-review.ts';
import type { Judgement } from './judge-request.ts';

/** A Status of meta/v1, as far as an AdmissionResponse needs one. */
interface FailureStatus {
  readonly status: 'Failure';
  readonly code: number;
  readonly reason: 'Forbidden' | 'BadRequest' | 'InternalError';
  readonly message: string;
}

/** An AdmissionReview with its `response` (k8s.io/api/admission/v1). */
export interface AdmissionAnswer {
  readonly apiVersion: typeof ADMISSION_API_VERSION;
  readonly kind: 'AdmissionReview';
  readonly response: {
    readonly uid: string;
    readonly allowed: boolean;
    readonly status?: FailureStatus;
    readonly patchType?: 'JSONPatch';
    /** Base64 of the JSON patch. */
    readonly patch?: string;
    readonly warnings?: readonly string[];
    readonly auditAnnotations?: Readonly<Record<string, string>>;
  };
}

/** The answer with a decision. */
export function answer(uid: string, { decision, patch }: Judgement): AdmissionAnswer {
  const { warnings, auditAnnotations } = decision;
  return envelope({
    uid,
    allowed: decision.action !== 'deny',
    ...(decision.action === 'deny' ? { status: failure(403, 'Forbidden', decision.message) } : {}),
    ...(patch.length > 0
      ? { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') }
      : {}),
    ...(warnings.length > 0 ? { warnings } : {}),
    ...(Object.keys(auditAnnotations).length > 0 ? { auditAnnotations } : {}),
  });
}

/** The answer that allows a review of any object, with warnings. */
export function warned(uid: string, warnings: readonly string[]): AdmissionAnswer {
  return envelope({ uid, allowed: true, ...(warnings.length > 0 ? { warnings } : {}) });
}

/** The answer to a review that has a uid but cannot be judged: the sender must correct it. */
export function badRequest(uid: string, message: string): AdmissionAnswer {
  return envelope({ uid, allowed: false, status: failure(400, 'BadRequest', message) });
}

/** The answer when judging failed through no fault of the sender. */
export function internalError(uid: string): AdmissionAnswer {
  const message = 'taintkeeper could not judge this request: its log says why';
  return envelope({ uid, allowed: false, status: failure(500, 'InternalError', message) });
}

function envelope(response: AdmissionAnswer['response']): AdmissionAnswer {
  return { apiVersion: ADMISSION_API_VERSION, kind: 'AdmissionReview', response };
}

function failure(code: number, reason: FailureStatus['reason'], message: string): FailureStatus {
  return { status: 'Failure', code, reason, message };
}
