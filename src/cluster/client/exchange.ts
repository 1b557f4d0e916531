import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * Sends a request, and waits for the head of its answer.
 * @param onEnd called when all of the answer has come, or none will any more
 */
export function exchange(
  outgoing: ClientRequest,
  body: string | undefined,
  onEnd: () => void,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.once('close', onEnd);
    outgoing.once('response', resolve);
    outgoing.once('error', (error: NodeJS.ErrnoException) => {
      const closed = outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      reject(closed ? new ClosedWhileUnused(error) : error);
    });
    outgoing.end(body);
  });
}

/** The server closed a kept connection in the moment that we used it again; RFC 9110, 9.2.2 lets us repeat what only reads. */
export class ClosedWhileUnused extends Error {
  readonly code = 'ECONNRESET';

  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}
