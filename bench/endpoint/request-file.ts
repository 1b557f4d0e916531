import { writeFileSync } from 'node:fs';
import type { ReviewCase } from './reviews.ts';

/** A whole request as it goes over the wire, HTTP head and body. */
export function requestBytes(path: string, body: string): Buffer {
  const content = Buffer.from(body);
  const head = [
    `POST ${path}?timeout=5s HTTP/1.1`,
    'host: 127.0.0.1',
    'content-type: application/json',
    'accept: application/json, */*',
    `content-length: ${content.length}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), content]);
}

/** Writes {@link requestBytes} of a review. Returns the size of the body in bytes. */
export function writeRequest(file: string, { path, review }: ReviewCase): number {
  const body = JSON.stringify(review);
  writeFileSync(file, requestBytes(path, body));
  return Buffer.byteLength(body);
}
