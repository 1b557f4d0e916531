/** OpenSSL writes `THREAD:error:NUMBER:LIBRARY:FUNCTION:REASON:FILE:LINE:DETAIL`, and Node.js passes it on as the message. */
const OPENSSL = /error:[0-9A-F]+:[^:]*:[^:]*:(?:tlsv1\d?|sslv3|ssl\/tls)? ?([^:\n]+)/;

/** An error as text, also one of Node.js without a message, and only the reason of one of OpenSSL. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, code, name } = error as NodeJS.ErrnoException;
  // Node.js reports "aborted" if the other side closes the connection within an answer.
  if (code === 'ECONNRESET') return 'the connection was closed';
  // A failed connection to a name with several addresses has no message.
  return OPENSSL.exec(message)?.[1] ?? (message || code || name);
}
