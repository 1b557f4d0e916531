import type { Readable } from 'node:stream';

/**
 * Streams on which nothing may arrive for long, so that a dead one cannot be recognized. After a time in which the API server was unreachable, each
 * of them may be dead: data that the API server sent meanwhile is sent again only after about the same time again, or never. So they are closed as
 * soon as it answers anything.
 */
export interface StreamsInDoubt {
  add(stream: Readable): void;
  delete(stream: Readable): void;
  /** A request got no answer. */
  silent(): void;
  /** A request got an answer. */
  answered(): void;
}

export function streamsInDoubt(): StreamsInDoubt {
  const streams = new Set<Readable>();
  let isSilent = false;
  return {
    add: (stream) => void streams.add(stream),
    delete: (stream) => void streams.delete(stream),
    silent() {
      isSilent = true;
    },
    answered() {
      if (!isSilent) return;
      isSilent = false;
      for (const stream of streams) stream.destroy(new Error('the API server was out of reach meanwhile'));
    },
  };
}
