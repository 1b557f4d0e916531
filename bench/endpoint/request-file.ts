import { writeFileSync } from 'node:fs';
import type { ReviewCase } from './reviews.ts';

/** Writes the whole request as it goes over the wire, HTTP head and body. Returns the size of the body in bytes. */
export function writeRequest(file: string, { path, review }: ReviewCase): number {
  const body = Buffer.from(JSON.stringify(review));
  const head = [
    `POST ${path}?timeout=5s HTTP/1.1`,
    'host: 127.0.0.1',
    'content-type: application/json',
    'accept: application/json, */*',
    `content-length: ${body.length}`,
  ];
  writeFileSync(file, Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]));
  return body.length;
}
