import type { Readable } from 'node:stream';

/**
 * Streams that nothing may come on for long, and of which therefore nobody sees that they are dead. After a time in which the API
 * server could not be reached, each of them may be: what the API server sent meanwhile is sent again only after about as long
 * a time again, or, where it has given the connection up, never. So they are given up as soon as it answers anything.
 */
export interface StreamsInDoubt {
  add(stream: Readable): void;
  delete(stream: Readable): void;
  /** A request had no answer. */
  silent(): void;
  /** One had. */
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
