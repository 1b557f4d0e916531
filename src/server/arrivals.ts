import type { IncomingMessage } from 'node:http';

export interface ArrivalLimits {
  /** For all bodies that are kept while they are received. One address gets at most half of it. */
  readonly bytes: number;
  /** For each request, from the end of its headers to its end. */
  readonly bodyMs: number;
  /** How often the bodies are checked. */
  readonly checkIntervalMs: number;
  /**
   * After how many checks a body is closed that still takes room for which others wait. It is no time: while this process is slow, it has read little of
   * what was sent.
   */
  readonly slowChecks: number;
  /** A connection was closed, because its body took too long while others waited. */
  readonly onClosed: () => void;
}

export interface Arrivals {
  /** The headers of the request are complete. `refuse` is called if the rest takes too long. */
  begin(message: IncomingMessage, refuse: () => void): void;
  /**
   * Calls `read` as soon as there is room for the body. Until then, the caller must not read it, so that TCP stops the sender. The room is free again at the end of
   * the request. `read` is not called if the request ends before.
   * @param bytes the part of the body that will be kept
   */
  makeRoom(message: IncomingMessage, bytes: number, read: () => void): void;
  stop(): void;
}

interface Arrival {
  /** The address of the sender. */
  readonly from: string;
  readonly since: number;
  refuse: (() => void) | undefined;
  /** Undefined while nothing is kept. */
  room?: { readonly bytes: number; checks: number };
  waiting?: { readonly bytes: number; readonly read: () => void };
}

/**
 * Bounds the memory of unfinished requests. Those that find no room wait. The addresses of the senders take turns, so that one that sends many requests does
 * not delay the requests of others.
 */
export function followArrivals({ bytes, bodyMs, slowChecks, checkIntervalMs, onClosed }: ArrivalLimits): Arrivals {
  /** The oldest first. A request that was refused for its age stays until its connection ends. */
  const arriving = new Map<IncomingMessage, Arrival>();
  /** By the address of the sender: the one whose turn is next is the first. */
  const queues = new Map<string, Set<Arrival>>();
  const heldBy = new Map<string, number>();
  let held = 0;

  function end(message: IncomingMessage): void {
    const arrival = arriving.get(message);
    if (arrival === undefined) return;
    const { from } = arrival;
    arriving.delete(message);
    if (arrival.room) hold(from, -arrival.room.bytes);
    const queue = queues.get(from);
    if (queue?.delete(arrival) && queue.size === 0) queues.delete(from);
    admitWaiting();
  }

  function admitWaiting(): void {
    // Those that are appended meanwhile are visited, too.
    for (const [from, queue] of queues) {
      const [arrival] = queue;
      if (!arrival?.waiting) continue;
      const { bytes: size, read } = arrival.waiting;
      if (exceedsShare(from, size)) continue;
      // A large body must not wait for ever behind small ones.
      if (held + size > bytes) return;
      queue.delete(arrival);
      queues.delete(from);
      if (queue.size > 0) queues.set(from, queue);
      hold(from, size);
      arrival.room = { bytes: size, checks: 0 };
      read();
    }
  }

  function exceedsShare(from: string, size: number): boolean {
    return (heldBy.get(from) ?? 0) + size > bytes / 2;
  }

  function hold(from: string, size: number): void {
    held += size;
    const sum = (heldBy.get(from) ?? 0) + size;
    if (sum > 0) heldBy.set(from, sum);
    else heldBy.delete(from);
  }

  function closeSlow(): void {
    for (const [message, { from, room }] of arriving) {
      if (queues.size === 0) return;
      if (!room?.bytes || !isAwaited(from) || ++room.checks < slowChecks) continue;
      message.destroy();
      end(message);
      onClosed();
    }
  }

  /** Whether others wait for room that bodies of this sender take. One that waits for its own sender's share needs only that. */
  function isAwaited(from: string): boolean {
    for (const [sender, [next]] of queues) {
      if (sender === from || (next?.waiting && !exceedsShare(sender, next.waiting.bytes))) return true;
    }
    return false;
  }

  // One timer for all: a timer for each request costs more than judging it.
  const check = setInterval(() => {
    const tooOld = performance.now() - bodyMs;
    for (const arrival of arriving.values()) {
      if (arrival.since > tooOld) break;
      arrival.refuse?.();
      arrival.refuse = undefined;
    }
    // What has arrived since the last check is read first.
    if (queues.size > 0) setImmediate(closeSlow);
  }, checkIntervalMs);
  check.unref();

  return {
    begin(message, refuse) {
      arriving.set(message, { from: message.socket.remoteAddress ?? '', since: performance.now(), refuse });
      const over = () => end(message);
      message.on('end', over).on('close', over);
    },
    makeRoom(message, size, read) {
      const arrival = arriving.get(message);
      if (arrival === undefined) return;
      arrival.waiting = { bytes: size, read };
      const queue = queues.get(arrival.from) ?? new Set();
      queues.set(arrival.from, queue.add(arrival));
      admitWaiting();
    },
    stop: () => clearInterval(check),
  };
}
