const NEWLINE = 0x0a;

/**
 * The values of a stream with one JSON text on each line, without empty lines. Lines have no maximum length: in a watch, each is one object, which
 * etcd limits to 1.5 MiB, and the API server writes as 10 MB at most. A line is collected in buffers, which are outside of V8's heap.
 * @throws SyntaxError for a line that is not JSON; Error when the stream ends within a line
 */
export async function* jsonLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<unknown> {
  // Joined when the line is complete: one of 1 MB arrives in 60 pieces, and a character may be split between two.
  let parts: Buffer[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      parts.push(chunk.subarray(start, end));
      start = end + 1;
      const line = parseLine(parts);
      parts = [];
      if (line) yield line.value;
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
  }
  if (parts.length > 0) throw new Error('the answer ended in the middle of a line');
}

/** A function of its own, because the generator would keep the text until the next line. */
function parseLine(parts: readonly Buffer[]): { readonly value: unknown } | undefined {
  const text = Buffer.concat(parts).toString('utf8');
  return text.trim() === '' ? undefined : { value: JSON.parse(text) };
}
