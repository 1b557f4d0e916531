import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { onTestFinished } from 'vitest';

/** One of the Server-Sent Events of a stream. */
export interface ReadEvent {
  readonly type: string;
  readonly id: string | undefined;
  readonly data: string;
}

/** Reads a stream of events as taintkeeper writes it: each field on one line. Blocks without data are left out. */
export async function* readEvents(chunks: AsyncIterable<Buffer>): AsyncGenerator<ReadEvent, void> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
      const data = field('data');
      if (data !== undefined) yield { type: field('event') ?? 'message', id: field('id'), data };
    }
  }
}

export interface OpenStream {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** The next event; rejected when the stream ends before. */
  next(): Promise<ReadEvent>;
  /** The next decision's value of the field, whatever else comes before it. */
  nextDecision(): Promise<Record<string, unknown>>;
  /** Resolves when the stream has ended, however it did. */
  readonly ended: Promise<unknown>;
  close(): void;
  /** From now on, nothing is read. */
  readonly response: IncomingMessage;
}

/** Opens a stream of events over a connection of its own. It goes with the running test. */
export async function openStream(url: string, headers: Record<string, string> = {}): Promise<OpenStream> {
  const outgoing = request(url, { agent: false, headers });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  // A stream that is cut off is no error of the test.
  response.on('error', () => {});
  const ended = new Promise((resolve) => response.once('close', resolve));
  onTestFinished(() => void response.destroy());
  const events = readEvents(response)[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await events.next();
    if (done) throw new Error('the stream has ended');
    return value;
  };
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    next,
    async nextDecision() {
      for (;;) {
        const { type, data } = await next();
        if (type === 'decision') return JSON.parse(data);
      }
    },
    ended,
    close: () => response.destroy(),
    response,
  };
}
