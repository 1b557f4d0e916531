import type { IncomingMessage, Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { refusal } from './json-body.ts';

/*
 * Node.js hands over a body in the pieces in which it came, and each takes some 500 bytes besides its own. The sender decides how large they are: a chunk
 * or a TLS record may have one byte. So no pieces are kept.
 */

/**
 * Refuses every request with a body in chunks. API servers, kubelets and Prometheus announce the length of what they send. Call it before other hooks
 * are added.
 */
export function refuseChunks(app: FastifyInstance<Server>): void {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    if (raw.headers['transfer-encoding'] === undefined) return done();
    // Discards what has arrived, and what arrives until the connection is closed.
    raw.resume();
    reply.header('connection', 'close');
    done(refusal(411, 'send the body with a Content-Length, not in chunks'));
  });
}

/**
 * Does not read the body for now, so that TCP stops the sender. What has arrived becomes one piece.
 * @param message with a body
 * @returns a function to be called before the body is read
 */
export function holdBack(message: IncomingMessage): () => void {
  const { socket } = message;
  let held = true;
  const pause = () => void socket.pause();
  message.once('readable', () => {
    if (!held) return;
    pause();
    // `read` makes the connection go on, and so does the body of an earlier request on it.
    socket.on('resume', pause);
    // All that was received together is here then.
    setImmediate(() => {
      if (!held) return;
      // With a length: Node.js 26 otherwise reads one piece.
      const arrived = message.read(message.readableLength);
      if (arrived !== null) message.unshift(arrived);
    });
  });
  return () => {
    held = false;
    message.removeAllListeners('readable');
    socket.off('resume', pause);
    socket.resume();
  };
}
