const NEWLINE = 0x0a;

/**
 * The values of a stream with one JSON text a line. Empty lines do not count.
 * @throws SyntaxError for a line that is not JSON; Error when the stream ends within a line
 */
export async function* jsonLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<unknown> {
  // Joined once the line is whole: one of 1 MB comes in 60 pieces, and a character may be cut between two.
  let parts: Buffer[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      parts.push(chunk.subarray(start, end));
      start = end + 1;
      const line = Buffer.concat(parts).toString('utf8');
      parts = [];
      if (line.trim() !== '') yield JSON.parse(line);
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
  }
  if (parts.length > 0) throw new Error('the answer ended in the middle of a line');
}
