/** One of the Server-Sent Events of a stream. */
export interface ReadEvent {
  readonly type: string;
  readonly id: string | undefined;
  readonly data: string;
}

/** One event is a few kilobytes: whoever sends this much without an end sends something else. */
const MAX_EVENT_CHARACTERS = 1_048_576;

/**
 * The events of a stream (WHATWG HTML, section 9.2.6), as far as taintkeeper writes them: lines end with a line feed. Ends with the
 * stream; what comes after the last blank line is left out.
 * @throws Error for what is no event stream
 */
export async function* readEvents(chunks: AsyncIterable<Buffer>): AsyncGenerator<ReadEvent, void> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    if (text.length > MAX_EVENT_CHARACTERS) throw new Error('this is no stream of events');
    for (const block of blocks) {
      const event = parse(block);
      if (event) yield event;
    }
  }
}

/** Undefined for what carries no data: comments, `retry`. */
function parse(block: string): ReadEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    fields.set(name, fields.has(name) ? `${fields.get(name)}\n${value}` : value);
  }
  const data = fields.get('data');
  return data === undefined ? undefined : { type: fields.get('event') ?? 'message', id: fields.get('id'), data };
}
