import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect, createSecureContext, type SecureContext } from 'node:tls';
import { NAMESPACE, SERVICE } from '../control-plane/replicas.ts';

/** Longer than a slow machine takes. A refused or reset connection is noticed at once. */
const TIMEOUT_MS = 20_000;

export type Handshake =
  | { readonly outcome: 'trusted'; readonly certificate: X509Certificate | undefined }
  /** There was an answer, with a certificate that these CAs do not vouch for, or not for this name, or not now. */
  | { readonly outcome: 'distrusted'; readonly certificate: X509Certificate | undefined; readonly code: string }
  /** No handshake: refused, reset or too slow. */
  | { readonly outcome: 'unanswered'; readonly code: string };

/**
 * One TLS handshake with a port of 127.0.0.1 on a connection of its own, as the API server makes it for the webhook's Service.
 *
 * @param bundle the CAs to trust, PEM; empty means those of the system, as it does in a `caBundle`
 */
export async function shakeHands(port: number, bundle: string): Promise<Handshake> {
  let secureContext: SecureContext;
  try {
    secureContext = createSecureContext({ ca: bundle });
  } catch (error) {
    return { outcome: 'distrusted', certificate: undefined, code: codeOf(error) };
  }
  const socket = connect({
    host: '127.0.0.1',
    port,
    servername: `${SERVICE}.${NAMESPACE}.svc`,
    secureContext,
    // The result is read from the socket: an error would not tell a distrusted certificate from a lost connection.
    rejectUnauthorized: false,
  });
  socket.on('error', () => {});
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    socket.destroy();
    return { outcome: 'unanswered', code: codeOf(error) };
  }
  const certificate = socket.getPeerX509Certificate();
  // Ended and read to the end: dropping the session tickets unread would be a reset to the server.
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy());
  socket.resume().end();
  // Typed as an Error, but the code of one.
  return socket.authorized
    ? { outcome: 'trusted', certificate }
    : { outcome: 'distrusted', certificate, code: String(socket.authorizationError) };
}

function codeOf(error: unknown): string {
  const { code, name, message } = error as NodeJS.ErrnoException;
  return code ?? `${name}: ${message}`;
}
