import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:tls';

const RETRY_MS = 2;

/**
 * Sends a request, again and again until somebody listens, and returns when the first bytes of an answer are there.
 * @throws Error when `giveUp` says so
 */
export async function firstAnswer({
  port,
  request,
  giveUp,
}: {
  readonly port: number;
  readonly request: Buffer;
  readonly giveUp: () => boolean;
}): Promise<void> {
  while (!(await isAnswered(port, request))) {
    if (giveUp()) throw new Error('the server ended before it answered');
    await delay(RETRY_MS);
  }
}

function isAnswered(port: number, request: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    // Who answers is no question here: it is a process of ours, and its certificate may not be issued yet.
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => socket.write(request));
    const end = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.once('data', () => end(true)).once('error', () => end(false));
  });
}
