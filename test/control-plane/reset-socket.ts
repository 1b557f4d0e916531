import type { Socket } from 'node:net';

/**
 * Closes a connection with a TCP reset. While `end` is under way, it is closed as usual: Node.js 26.10 has no reset then (EINVAL), and never closes such a
 * socket. The process would not end: at its exit, Node.js waits for it in a loop.
 */
export function resetSocket(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
