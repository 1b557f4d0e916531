import { printable } from '../../text/printable.ts';

/** Longest part of a server's message that an error repeats, in characters. */
const MESSAGE_MAX_LENGTH = 1_000;

/** The API server's answer had an error status. */
export class ApiError extends Error {
  override name = 'ApiError';
  /** The HTTP status, or the `code` of a Status object in a watch. */
  readonly status: number;
  /** The `reason` of the metav1.Status, such as `NotFound` or `Expired`; '' if there was none. */
  readonly reason: string;
  /** How long the server said to wait before the next attempt, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The reasons of the metav1.Status' `details.causes`, such as `NamespaceTerminating`. */
  readonly causes: readonly string[];
  /** The object of the path that the metav1.Status names as missing. Undefined for any other error. */
  readonly missing: string | undefined;
  /** With 410 for a page of a list: the token with which the list continues from a newer state. */
  readonly continueToken: string | undefined;

  constructor(
    method: string,
    path: string,
    status: number,
    reason: string,
    message: string,
    {
      retryAfterMs,
      causes = [],
      missing,
      continueToken,
    }: {
      readonly retryAfterMs?: number | undefined;
      readonly causes?: readonly string[];
      readonly missing?: string | undefined;
      readonly continueToken?: string | undefined;
    } = {},
  ) {
    const said = printable(message.slice(0, MESSAGE_MAX_LENGTH));
    super(`${method} ${path}: ${status}${reason ? ` ${reason}` : ''}${said ? `: ${said}` : ''}`);
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
    this.causes = causes;
    this.missing = missing;
    this.continueToken = continueToken;
  }
}

/** The answer has more bytes than the caller accepts. */
export class AnswerTooLongError extends Error {
  override name = 'AnswerTooLongError';

  constructor(method: string, path: string, mostBytes: number) {
    super(`${method} ${path}: the answer has more than ${mostBytes} bytes`);
  }
}

/**
 * The object does not exist: the API server's Status names it. A plain 404 says nothing about an object, because a proxy, or an API server that has just
 * started, answers with it to any path.
 */
export function isNotFound(error: unknown): error is ApiError {
  return hasStatus(error, 404) && error.missing !== undefined;
}

/** The path is not served: a kind without a definition, or a proxy's answer. It says nothing about an object. */
export function isNotServed(error: unknown): error is ApiError {
  return hasStatus(error, 404) && error.missing === undefined;
}

/** The object has changed since it was read, or one with the name of the new object exists. */
export function isConflict(error: unknown): error is ApiError {
  return hasStatus(error, 409);
}

/** The object has changed or was deleted since it was read. */
export function isOutdated(error: unknown): error is ApiError {
  return isNotFound(error) || isConflict(error);
}

/** The events after this resourceVersion, or the rest of this list, are no longer available. An event of a watch may have only the reason. */
export function isExpired(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone');
}

/** RBAC or an admission plugin does not allow it. */
export function isForbidden(error: unknown): error is ApiError {
  return hasStatus(error, 403);
}

/**
 * The object is too large to be stored. By `--max-request-bytes` of etcd the API server answers 500 with the message of etcd, or of its client for a request
 * above 2 MiB.
 */
export function isTooLarge({ status, message }: Pick<ApiError, 'status' | 'message'>): boolean {
  return (
    status === 413 ||
    (status === 500 && /etcdserver: request is too large|trying to send message larger than max/.test(message))
  );
}

/** Whether a repetition cannot help. Refused credentials may be renewed soon. */
export function isFinal(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  const { status } = error;
  return isTooLarge(error) || (status >= 400 && status < 500 && ![401, 408, 429].includes(status));
}

function hasStatus(error: unknown, status: number): error is ApiError {
  return error instanceof ApiError && error.status === status;
}

/**
 * The error for an answer with an error status.
 * @param body as received: usually a metav1.Status, but proxies and API servers that start up answer with plain text
 */
export function toApiError(
  method: string,
  path: string,
  status: number,
  body: string,
  retryAfterMs?: number,
): ApiError {
  const { reason, message, causes, name, continueToken } = readStatus(parse(body));
  const isNamed = reason === 'NotFound' && name !== undefined && path.split('/').includes(encodeURIComponent(name));
  const missing = isNamed ? name : undefined;
  return new ApiError(method, path, status, reason ?? '', message ?? body, {
    retryAfterMs,
    causes,
    missing,
    continueToken,
  });
}

/** The fields of a metav1.Status that errors use, from any received value. */
export function readStatus(value: unknown): {
  code?: number;
  reason?: string;
  message?: string;
  causes: readonly string[];
  /** The object that `details` names. */
  name?: string;
  /** The token of a list that `metadata` has. */
  continueToken?: string;
} {
  if (typeof value !== 'object' || value === null) return { causes: [] };
  const { code, reason, message, details, metadata } = value as Record<string, unknown>;
  const name = textIn(details, 'name');
  const continueToken = textIn(metadata, 'continue');
  return {
    ...(typeof code === 'number' ? { code } : {}),
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(typeof message === 'string' ? { message } : {}),
    causes: causesIn(details),
    ...(name === undefined ? {} : { name }),
    ...(continueToken === undefined ? {} : { continueToken }),
  };
}

/** A text of an object that is not empty. */
function textIn(value: unknown, key: string): string | undefined {
  const text = ((value ?? {}) as Readonly<Record<string, unknown>>)[key];
  return typeof text === 'string' && text !== '' ? text : undefined;
}

function causesIn(details: unknown): readonly string[] {
  const { causes } = (details ?? {}) as { readonly causes?: unknown };
  if (!Array.isArray(causes)) return [];
  return causes.flatMap((cause: { readonly reason?: unknown } | null) =>
    typeof cause?.reason === 'string' ? [cause.reason] : [],
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
