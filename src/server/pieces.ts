import type { IncomingMessage, Server } from 'node:http';
import type { FastifyInstance } from 'fastify';

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
    reply.code(411).header('connection', 'close').send({ error: 'send the body with a Content-Length, not in chunks' });
  });
}

/**
 * Does not read the body for now, so that TCP stops the sender. What has arrived becomes one piece.
 * @returns a function to be called before the body is read
 */
export function holdBack(message: IncomingMessage): () => void {
  let held = true;
  const pause = () => {
    if (held) message.socket.pause();
  };
  message.once('readable', () => {
    pause();
    // All that was received together is here then.
    setImmediate(() => {
      if (!held) return;
      // With a length: Node.js 26 otherwise reads one piece.
      const arrived = message.read(message.readableLength);
      if (arrived !== null) message.unshift(arrived);
      // `read` makes the connection go on in the next tick.
      process.nextTick(pause);
    });
  });
  return () => {
    held = false;
    message.removeAllListeners('readable');
    message.socket.resume();
  };
}
