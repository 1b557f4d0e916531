import { ExcerptTooLargeError, excerptOf } from '../admission/excerpt.ts';
import { printable } from '../kubernetes/text.ts';

/**
 * The largest body that an API server sends for an object that etcd accepts. etcd takes 1.5 MiB at most, and the API server writes a byte of it
 * as six at most (`<` as `\u003c`); a review of an update has the object twice, and 1 MiB around them.
 */
export const BODY_LIMIT_BYTES = 2 * 6 * 1.5 * 1024 * 1024 + 1024 * 1024;

/**
 * A longer body is not parsed whole, because its length says little about the memory that it needs. For `{"33":0},` V8 uses 352 bytes, and 20 MiB
 * could consist of this. The review of a node with 50 images, 100 labels and 30 annotations has 100 KB.
 */
export const WHOLE_BYTES = 512 * 1024;

const NONE = (): ReadonlySet<string> => new Set();

/**
 * The parsed body of a request.
 * @param body undefined if there was none
 * @param labels returns the names of the labels that policies read: others are left out of a long body
 * @throws Error with the `statusCode` of the answer, for invalid JSON or a body that is too large
 */
export function parseJson(body: unknown, labels: () => ReadonlySet<string> = NONE): unknown {
  if (!Buffer.isBuffer(body)) return undefined;
  // The excerpt overwrites it.
  const subject = body.length > WHOLE_BYTES ? subjectOf(body) : {};
  try {
    return body.length > WHOLE_BYTES ? excerptOf(body, labels()) : JSON.parse(body.toString());
  } catch (error) {
    if (error instanceof ExcerptTooLargeError) {
      throw refusal(413, 'the body holds more than two objects have that etcd accepts', subject);
    }
    throw refusal(400, body.length === 0 ? 'the body is empty' : `the body is not JSON: ${(error as Error).message}`);
  }
}

/** An error with the status of the answer, and further fields for the log. */
export interface Refusal extends Error {
  readonly statusCode: number;
  readonly subject?: ReviewSubject;
}

function refusal(statusCode: number, message: string, subject?: ReviewSubject): Refusal {
  return Object.assign(new Error(message), { statusCode, ...(subject ? { subject } : {}) });
}

/** The object of a review, if it could be read. Printable. */
export interface ReviewSubject {
  readonly uid?: string;
  readonly kind?: string;
  readonly name?: string;
}

/** The API server writes these before the objects, and the user's name and groups after them. */
const BEGINNING_BYTES = 2_048;

const SUBJECT = {
  uid: /"request":\{"uid":"([^"\\]{1,253})"/,
  kind: /"kind":\{[^{}]*"kind":"([^"\\]{1,253})"/,
  name: /[,{]"name":"([^"\\]{1,253})"/,
};

/** The object of a review whose text begins like this. Empty if another program has written it in another order. */
export function subjectOf(body: Buffer): ReviewSubject {
  const beginning = body.toString('utf8', 0, BEGINNING_BYTES);
  return Object.fromEntries(
    Object.entries(SUBJECT).flatMap(([field, pattern]) => {
      const [, found] = pattern.exec(beginning) ?? [];
      return found === undefined ? [] : [[field, printable(found)]];
    }),
  );
}
