import { Code, ConnectError } from '@connectrpc/connect';
import { messageOf } from '../../runtime/error-message.ts';
import { Interruption } from './apid-sessions.ts';

/**
 * Why a call has no answer, by the status of gRPC or by the answer. `not forwarded`: the endpoint is a worker, which passes no calls on.
 * `interrupted`: the connection or the stream ended before the answer did.
 */
export type CallFault =
  | 'denied'
  | 'not forwarded'
  | 'unimplemented'
  | 'absent'
  | 'silent'
  | 'unavailable'
  | 'interrupted'
  | 'too large'
  | 'garbled';

export type CallResult<T> =
  | { readonly ok: true; readonly value: T }
  /** The message never quotes the configuration, which has secrets. */
  | { readonly ok: false; readonly fault: CallFault; readonly message: string };

/** The answer came, and the field that was asked for is empty. */
export class EmptyAnswer extends Error {}

const FAULTS: Partial<Record<Code, CallFault>> = {
  [Code.PermissionDenied]: 'denied',
  [Code.Unauthenticated]: 'denied',
  [Code.Unimplemented]: 'unimplemented',
  [Code.NotFound]: 'absent',
  [Code.DeadlineExceeded]: 'silent',
  [Code.Unavailable]: 'unavailable',
  [Code.ResourceExhausted]: 'too large',
};

/** The limit for a message of the other side. */
const MAX_MESSAGE_CHARACTERS = 200;

/**
 * Waits for a call, and repeats it once if it is interrupted: apid resets streams now and then while the machine is busy. An error never quotes the
 * answer, which may be secret.
 */
export async function tryCall<T>(work: () => Promise<T>): Promise<CallResult<T>> {
  const first = await attempt(work);
  return first.ok || first.fault !== 'interrupted' ? first : attempt(work);
}

async function attempt<T>(work: () => Promise<T>): Promise<CallResult<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (error instanceof EmptyAnswer) return { ok: false, fault: 'garbled', message: error.message };
    if (!(error instanceof ConnectError)) return { ok: false, fault: 'garbled', message: 'it cannot be read' };
    const message = (error.cause ? messageOf(error.cause) : error.rawMessage).slice(0, MAX_MESSAGE_CHARACTERS);
    return { ok: false, fault: faultOf(error), message };
  }
}

function faultOf(error: ConnectError): CallFault {
  if (isInterruption(error)) return 'interrupted';
  if (error.code === Code.PermissionDenied && error.rawMessage.includes('no request forwarding'))
    return 'not forwarded';
  // Below HTTP, such as an alert of TLS.
  return FAULTS[error.code] ?? (error.cause ? 'unavailable' : 'garbled');
}

/** What connect says of an answer that ends within its message, or before the trailers, which have the status. */
const CUT_OFF: readonly string[] = ['protocol error: incomplete envelope', 'protocol error: missing status'];

function isInterruption({ code, cause, rawMessage }: ConnectError): boolean {
  const { code: reason } = (cause ?? {}) as NodeJS.ErrnoException;
  return (
    cause instanceof Interruption ||
    /^(ERR_HTTP2_|ERR_STREAM_|ECONNRESET$|EPIPE$)/.test(String(reason)) ||
    code === Code.Canceled ||
    code === Code.Aborted ||
    CUT_OFF.includes(rawMessage)
  );
}
