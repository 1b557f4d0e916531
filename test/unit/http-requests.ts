import { harmlessReview } from './reviews.ts';
import { openTls, readAnswer } from './server/raw-connections.ts';

/** A review as it goes over a connection. */
export function requestText(review: object): string {
  const body = JSON.stringify(review);
  return `POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** One that is allowed. */
export const REQUEST = requestText(harmlessReview());
export const OK = /^HTTP\/1\.1 200 /;

/** The answer to a good request on a connection of its own. */
export async function answerOf(port: number, ca: string): Promise<string> {
  const connection = await openTls(port, ca);
  connection.write(REQUEST);
  const text = await readAnswer(connection);
  connection.destroy();
  return text;
}
