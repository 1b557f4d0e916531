import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * Sends a request, and waits for the head of its answer.
 * @param onEnd called when the whole answer was received, or the connection failed
 */
export function exchange(
  outgoing: ClientRequest,
  body: string | undefined,
  onEnd: () => void,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.once('close', onEnd);
    outgoing.once('response', resolve);
    // It stays after the head of the answer: a body that is not HTTP is an error of the request, too, and would end the process without a listener. The
    // reader of the body gets it.
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      const closed = outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      reject(closed ? new ClosedWhileUnused(error) : error);
    });
    outgoing.end(body);
  });
}

/** The server closed a kept connection at the moment of its next use. RFC 9110, 9.2.2 allows to repeat a request that only reads. */
export class ClosedWhileUnused extends Error {
  readonly code = 'ECONNRESET';

  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}
