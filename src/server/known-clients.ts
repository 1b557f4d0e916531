import type { TLSSocket } from 'node:tls';

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
