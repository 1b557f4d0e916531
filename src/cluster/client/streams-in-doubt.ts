import type { Readable } from 'node:stream';

/**
 * Streams on which nothing may arrive for long, so that a dead one cannot be recognized. After a time in which the API server was unreachable, each
 * of them may be dead: data that the API server sent meanwhile is sent again only after about the same time again, or never. So they are closed as
 * soon as it answers anything. A stream that received bytes since the unanswered request was sent is alive: the request alone was slow.
 */
export interface StreamsInDoubt {
  add(stream: Readable): void;
  delete(stream: Readable): void;
  /** The stream received bytes. */
  received(stream: Readable): void;
  /**
   * A request got no answer.
   * @param since when it was sent, by performance.now()
   */
  silent(since: number): void;
  /** A request got an answer. */
  answered(): void;
}

export function streamsInDoubt(): StreamsInDoubt {
  /** When each stream last received bytes, its head included. */
  const streams = new Map<Readable, number>();
  /** When the latest request without an answer was sent. */
  let silentSince: number | undefined;
  return {
    add: (stream) => void streams.set(stream, performance.now()),
    delete: (stream) => void streams.delete(stream),
    received(stream) {
      if (streams.has(stream)) streams.set(stream, performance.now());
    },
    silent(since) {
      silentSince = Math.max(since, silentSince ?? since);
    },
    answered() {
      if (silentSince === undefined) return;
      for (const [stream, receivedAt] of streams) {
        if (receivedAt < silentSince) stream.destroy(new Error('the API server was out of reach meanwhile'));
      }
      silentSince = undefined;
    },
  };
}
