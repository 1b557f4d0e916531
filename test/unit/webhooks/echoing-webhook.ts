import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import type { KeyPair } from '../../../src/certs/issue.ts';

/**
 * Starts a webhook at 127.0.0.1 that answers each review with its UID, until the test ends.
 * @param date what its clock shows, if not the time of this machine
 * @returns its port
 */
export async function startEchoingWebhook(
  serving: KeyPair,
  { status = 200, date }: { status?: number; date?: Date } = {},
): Promise<number> {
  const server = createServer(serving, async (request, response) => {
    const { request: review } = (await json(request)) as { request: { uid: string } };
    if (date) response.setHeader('date', date.toUTCString());
    response.statusCode = status;
    response.end(JSON.stringify({ response: { uid: review.uid } }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
