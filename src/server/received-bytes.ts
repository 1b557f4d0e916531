import type { IncomingMessage } from 'node:http';

/**
 * Bounds what all requests together hold in memory while they arrive. When it gets too much, the one that has been arriving for the
 * longest time goes: an API server's takes milliseconds, and whoever sends slowly makes room for it.
 * @returns a function that every request is given to before its body is read
 */
export function boundReceivedBytes(maxBytes: number, onDropped: () => void): (message: IncomingMessage) => void {
  /** The oldest first, with the bytes that each has sent. */
  const arriving = new Map<IncomingMessage, number>();
  let held = 0;

  function forget(message: IncomingMessage): void {
    held -= arriving.get(message) ?? 0;
    arriving.delete(message);
  }

  return (message) => {
    arriving.set(message, 0);
    message.on('data', (chunk: Buffer) => {
      const before = arriving.get(message);
      if (before === undefined) return;
      arriving.set(message, before + chunk.length);
      held += chunk.length;
      for (const oldest of arriving.keys()) {
        if (held <= maxBytes) break;
        forget(oldest);
        oldest.destroy();
        onDropped();
      }
    });
    for (const end of ['end', 'close']) message.once(end, () => forget(message));
  };
}
