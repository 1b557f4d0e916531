import type { Logger } from 'pino';
import {
  type AdmissionRequest,
  type DecodedReview,
  decodeReview,
  nestedTooDeep,
  shownUser,
} from '../admission/admission-review.ts';
import { type Judgement, judgeRequest } from '../admission/judge-request.ts';
import { nameOf, objectToCreate } from '../admission/request-object.ts';
import { answer, badRequest, internalError } from '../admission/response.ts';
import type { Phase } from '../judge/decision.ts';
import { judgeTooLarge } from '../judge/request/too-large.ts';
import { groupViolations } from '../judge/violation.ts';
import type { ObjectReference } from '../kubernetes/event.ts';
import { MalformedObjectError } from '../objects/object-schema.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import { printable } from '../text/printable.ts';
import { parseBody, parsedLimits, type ReceivedBody, type ReviewSubject } from './json-body.ts';
import type { AdmissionMetrics, RequestResult } from './metrics.ts';
import { requestFaultLog } from './request-fault-log.ts';
import { violationLog } from './violation-log.ts';

export interface ReviewerOptions {
  /** The policies in force. If it throws, the answer is an error, so that the webhook's failurePolicy decides. */
  readonly policies: () => PolicySet;
  readonly metrics: AdmissionMetrics;
  readonly log: Logger;
  /**
   * Called with every judged request, also dry runs, except routine ones, those of `onCreation`, and those that are too large to parse. It must not
   * throw.
   */
  readonly onJudged?: (judged: JudgedRequest) => void;
  /**
   * Called with a request that creates an object and has a violation or a patch, after it was allowed. The API server may refuse it afterwards, for example because the object
   * exists, so it decides when the request is recorded, and whether. Undefined: it is recorded as any other.
   */
  readonly onCreation?: (creation: JudgedCreation) => void;
}

/** A request and its decision. */
export interface JudgedRequest {
  readonly phase: Phase;
  readonly request: AdmissionRequest;
  readonly judgement: Judgement;
  /** The sender, which cannot be forged: see `identifyClients` in tls.ts. Any client may have sent it, with any content of `request`. */
  readonly origin: string;
}

/** A request that creates an object, and its decision. */
export interface JudgedCreation {
  readonly object: ObjectReference;
  /** With the object as it was sent, of any size: not to be kept. */
  readonly judged: JudgedRequest;
  /** The same without the object, and without the patch. */
  readonly withoutObject: JudgedRequest;
  /** Counts the outcomes in the metrics, and logs them. Keeps no reference to the object. */
  readonly report: () => void;
}

/**
 * Answers the body of a call, counts it, and logs its violations.
 * @param origin the sender, which cannot be forged
 * @throws Refusal for a body without a review
 */
export type Reviewer = (body: ReceivedBody | undefined, phase: Phase, origin: string) => HttpAnswer;

export interface HttpAnswer {
  readonly status: number;
  readonly body: object;
}

/** What is known of a call before its body is parsed. */
interface Call {
  readonly phase: Phase;
  readonly origin: string;
  /** When the body was complete, by performance.now(). */
  readonly start: number;
}

export function createReviewer({ policies, metrics, log, onJudged, onCreation }: ReviewerOptions): Reviewer {
  const logViolations = violationLog(log);
  const logFault = requestFaultLog(log);

  return (body, phase, origin) => {
    const call: Call = { phase, origin, start: performance.now() };
    const parsed = parseBody(body);
    if (parsed.tooLarge) return reviewTooLarge(parsed.subject, call);
    const decoded = decodeReview(parsed.value);
    return decoded.ok ? reviewRequest(decoded.request, call) : refuseReview(decoded, call);
  };

  function reviewRequest(request: AdmissionRequest, call: Call): HttpAnswer {
    try {
      const judgement = judgeRequest(request, call.phase, policies());
      const body = answer(request.uid, judgement);
      countRequest(request, call, RESULTS[judgement.decision.action]);
      record(request, judgement, call);
      return { status: 200, body };
    } catch (thrown) {
      return failed(nestedTooDeep(thrown, request) ?? thrown, request, call);
    }
  }

  function failed(error: unknown, request: AdmissionRequest, call: Call): HttpAnswer {
    if (error instanceof MalformedObjectError) {
      countRequest(request, call, 'malformed');
      const level = request.dryRun ? 'debug' : 'warn';
      logFault({ ...call, level, what: 'malformed object', detail: error.message, fields: fieldsOf(request) });
      return { status: 400, body: badRequest(request.uid, error.message) };
    }
    countRequest(request, call, 'error');
    logFault({ ...call, level: 'error', what: 'judging failed', fields: { err: error, ...fieldsOf(request) } });
    return { status: 500, body: internalError(request.uid) };
  }

  function refuseReview({ uid, message }: DecodedReview & { readonly ok: false }, call: Call): HttpAnswer {
    count(call, 'malformed');
    const fields = { uid: uid && printable(uid) };
    logFault({ ...call, level: 'warn', what: 'malformed review', detail: message, fields });
    return { status: 400, body: uid === undefined ? { error: message } : badRequest(uid, message) };
  }

  /** Whether it is a dry run is not known, so it counts as a request. */
  function reviewTooLarge(subject: ReviewSubject & { readonly uid: string }, call: Call): HttpAnswer {
    try {
      const decision = judgeTooLarge[call.phase]({ ...subject, limits: parsedLimits() }, policies());
      count(call, RESULTS[decision.action]);
      const fields = { ...subject, allowed: decision.action !== 'deny' };
      logFault({ ...call, level: 'warn', what: 'a review is too large', fields });
      return { status: 200, body: answer(subject.uid, { kind: undefined, decision, patch: [] }) };
    } catch (error) {
      count(call, 'error');
      logFault({ ...call, level: 'error', what: 'judging failed', fields: { err: error, ...subject } });
      return { status: 500, body: internalError(subject.uid) };
    }
  }

  function countRequest({ dryRun }: AdmissionRequest, call: Call, result: RequestResult): void {
    if (dryRun) metrics.dryRunAnswered(call.phase);
    else count(call, result);
  }

  function count({ phase, start }: Call, result: RequestResult): void {
    metrics.requestAnswered(phase, result, (performance.now() - start) / 1000);
  }

  function record(request: AdmissionRequest, judgement: Judgement, call: Call): void {
    if (isRoutine(judgement)) return;
    const judged: JudgedRequest = { phase: call.phase, request, judgement, origin: call.origin };
    try {
      const object = onCreation && hasFindings(judgement) ? objectToCreate(request, judgement) : undefined;
      if (onCreation && object) {
        const withoutObject = kept(judged);
        onCreation({ object, judged, withoutObject, report: reportOf(withoutObject) });
      } else {
        report(judged);
        onJudged?.(judged);
      }
    } catch (err) {
      // The decision stands: an error would make the API server apply the failurePolicy instead.
      logFault({
        ...call,
        level: 'error',
        what: 'the decision was not recorded',
        fields: { err, ...fieldsOf(request) },
      });
    }
  }

  /** To report later. V8 keeps all that the functions of one scope use for as long as one of them lives: this one is made without the object. */
  function reportOf(withoutObject: JudgedRequest): () => void {
    return () => report(withoutObject);
  }

  function report({ request, judgement: { kind, decision }, origin }: JudgedRequest): void {
    if (!kind || decision.violations.length === 0) return;
    const groups = groupViolations(decision.violations);
    if (!request.dryRun) for (const group of groups) metrics.violationFound(kind, group[0], group.length);
    logViolations({ request, kind, groups, origin });
  }
}

const RESULTS = { allow: 'allowed', deny: 'denied', patch: 'patched' } as const;

function isRoutine({ decision }: Judgement): boolean {
  return decision.action === 'patch' && decision.isRoutine === true;
}

/** Whether there is something to record. */
function hasFindings({ decision, patch }: Judgement): boolean {
  return decision.violations.length > 0 || patch.length > 0;
}

/** The part of a judged request that can be kept. */
function kept(judged: JudgedRequest): JudgedRequest {
  const { request, judgement } = judged;
  const { kind, decision } = judgement;
  return {
    ...judged,
    request: { ...request, name: nameOf(request), object: undefined, oldObject: undefined },
    judgement: {
      kind,
      decision: decision.action === 'patch' ? { ...decision, desired: undefined } : decision,
      patch: [],
    },
  };
}

/** Identifies a request in the log. */
function fieldsOf(request: AdmissionRequest): object {
  const { uid, resource, namespace, name } = request;
  const fields = { uid, resource: resource.resource, namespace, name };
  const printables = Object.entries(fields).map(([field, text]) => [field, text && printable(text)]);
  return { ...Object.fromEntries(printables), user: shownUser(request) };
}
