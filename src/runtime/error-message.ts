/** An error as text, also one of Node.js without a message. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, code, name } = error as NodeJS.ErrnoException;
  // Node.js reports "aborted" if the other side closes the connection within an answer.
  if (code === 'ECONNRESET') return 'the connection was closed';
  // A failed connection to a name with several addresses has no message.
  return message || code || name;
}
