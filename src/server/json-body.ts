import type { IncomingMessage } from 'node:http';
import { groupedNumber } from '../text/counts.ts';
import { printable } from '../text/printable.ts';

const MIB = 1024 * 1024;

/**
 * A longer body is not parsed. The review of the largest real nodes has 0.2 MB. An object that etcd accepts can result in a review of 25 MB: no limit
 * for which V8's heap has room includes them all.
 */
export const BODY_LIMIT_BYTES = 2 * MIB;

/** The rest of a longer body is received and discarded, because its sender may read no answer before. An API server sends no body as long as this. */
export const DISCARDED_LIMIT_BYTES = 64 * MIB;

/** A body below this size has too few parts for them to matter. */
const COUNTED_BYTES = 128 * 1024;

/**
 * The most lists and maps, and the most fields, of a body that is parsed: so many of each. While one is parsed and judged, no other is: 2 MiB of labels
 * took 0.3 s, and these limits keep the slowest body near 20 ms (bench/hostile-bodies.ts). The review of a node of 200 KB has some 3,000 lists and maps,
 * and 12,000 fields.
 */
export const MOST_PARTS = 20_000;

/** The texts of a body that is parsed, names of fields included. */
export const MOST_TEXTS = 45_000;

/** The limits of a body that is parsed, in words. */
export function parsedLimits(): string {
  const [parts, texts] = [MOST_PARTS, MOST_TEXTS].map(groupedNumber);
  return `${BODY_LIMIT_BYTES / MIB} MiB, ${parts} fields, ${parts} lists and maps, or ${texts} texts`;
}

/** The API server writes uid, kind and name of a review at its beginning. */
const BEGINNING_BYTES = 2_048;

/** A body, or the beginning of one that is longer than {@link BODY_LIMIT_BYTES}. */
export interface ReceivedBody {
  readonly kept: Buffer;
  readonly isWhole: boolean;
}

/** The length that the headers announce, in bytes. */
function announcedBytesOf({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0);
}

/** How many bytes of the body are kept. */
export function keptBytesOf(message: IncomingMessage): number {
  const announced = announcedBytesOf(message);
  return announced > BODY_LIMIT_BYTES ? BEGINNING_BYTES : announced;
}

/** Why the body is not received; undefined if it is. */
export function objectionToLength(message: IncomingMessage): Refusal | undefined {
  if (announcedBytesOf(message) <= DISCARDED_LIMIT_BYTES) return undefined;
  return refusal(413, `the body is larger than ${DISCARDED_LIMIT_BYTES} bytes`);
}

/**
 * Receives a body to its end, and keeps no piece of it: see pieces.ts.
 * @throws Refusal for a connection that ends before
 */
export function receiveBody(message: IncomingMessage): Promise<ReceivedBody> {
  return new Promise((resolve, reject) => {
    const kept = Buffer.allocUnsafe(keptBytesOf(message));
    let length = 0;
    message.on('data', (piece: Buffer) => {
      piece.copy(kept, length);
      length += piece.length;
    });
    // It may have been held back.
    message.resume();
    message.once('end', () => resolve({ kept, isWhole: length <= kept.length }));
    message.once('error', (error) => reject(Object.assign(error, { statusCode: 400 })));
    message.once('close', () =>
      reject(Object.assign(refusal(400, 'the connection was closed'), { code: 'ECONNRESET' })),
    );
  });
}

/** A parsed body, or the object of a review that is too large to parse. */
export type ParsedBody =
  | { readonly tooLarge: false; readonly value: unknown }
  | { readonly tooLarge: true; readonly subject: ReviewSubject & { readonly uid: string } };

/**
 * Parses the body of a request.
 * @param body undefined if there was none
 * @throws Refusal for invalid JSON, or for a body that is too large and does not begin like a review
 */
export function parseBody(body: ReceivedBody | undefined): ParsedBody {
  if (body === undefined) return { tooLarge: false, value: undefined };
  const { kept, isWhole } = body;
  if (!isWhole || (kept.length > COUNTED_BYTES && hasTooMany(kept))) {
    const { uid, ...subject } = subjectOf(kept);
    if (uid !== undefined) return { tooLarge: true, subject: { uid, ...subject } };
    throw refusal(413, 'the body is too large, and does not begin as a review of an API server');
  }
  try {
    return { tooLarge: false, value: JSON.parse(kept.toString()) };
  } catch (error) {
    throw refusal(400, kept.length === 0 ? 'the body is empty' : `the body is not JSON: ${(error as Error).message}`);
  }
}

/** Whether the text has more than {@link MOST_PARTS} or {@link MOST_TEXTS}. Characters in texts count as well. */
function hasTooMany(text: Buffer): boolean {
  let parts = 0;
  let fields = 0;
  let quotes = 0;
  for (let place = 0; place < text.length; place++) {
    switch (text[place]) {
      case 0x22: // "
        quotes++;
        break;
      case 0x3a: // :
        fields++;
        break;
      case 0x5b: // [
      case 0x7b: // {
        parts++;
    }
  }
  return parts > MOST_PARTS || fields > MOST_PARTS || quotes > 2 * MOST_TEXTS;
}

/** An error with the status of the answer. */
export interface Refusal extends Error {
  readonly statusCode: number;
}

export function refusal(statusCode: number, message: string): Refusal {
  return Object.assign(new Error(message), { statusCode });
}

/** The object of a review, if it could be read. Printable. */
export interface ReviewSubject {
  readonly uid?: string;
  readonly kind?: string;
  readonly name?: string;
}

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
