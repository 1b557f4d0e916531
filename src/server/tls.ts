import { constants } from 'node:crypto';
import type { TLSSocket } from 'node:tls';

export interface TlsPair {
  /** PEM, leaf first. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
}

const MIN_TLS_VERSION = 'TLSv1.2';

/** What `setSecureContext` needs to replace the certificate of a running admission server. */
export function secureContext(tls: TlsPair, clientCa?: string) {
  return {
    cert: tls.cert,
    key: tls.key,
    minVersion: MIN_TLS_VERSION,
    // A client of TLS 1.2 could have the costly half of a handshake done again and again on one connection.
    // A ticket would carry a client's certificate over a change of the CA.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | (clientCa === undefined ? 0 : constants.SSL_OP_NO_TICKET),
    ...(clientCa === undefined ? {} : { ca: clientCa }),
  } as const;
}

/** Who may call: clients with a certificate of these CAs. */
export interface KnownClients {
  /** PEM. */
  readonly ca: string;
  /** The only common name that will do; undefined: any. */
  readonly name?: string | undefined;
}

/** Tells of a connection why its client may not call, or undefined if it may. Its handshake has been done, with a certificate asked for. */
export function checkClients({ name }: Pick<KnownClients, 'name'>): (socket: TLSSocket) => string | undefined {
  // To take a certificate apart costs as much as to judge a request, and a connection never shows another one.
  const found = new WeakMap<TLSSocket, string | undefined>();
  return (socket) => {
    if (!found.has(socket)) found.set(socket, objectionTo(socket, name));
    return found.get(socket);
  };
}

function objectionTo(socket: TLSSocket, name: string | undefined): string | undefined {
  const { CN: shown } = socket.getPeerCertificate().subject ?? {};
  if (shown === undefined && !socket.authorized) return 'a client certificate is needed: only the API server may call';
  if (!socket.authorized) return `the client certificate is not accepted: ${socket.authorizationError}`;
  return name === undefined || shown === name ? undefined : 'the client certificate has another common name';
}
