import type { TLSSocket } from 'node:tls';

/** Who may call: clients with a certificate of these CAs. */
export interface KnownClients {
  /** PEM. */
  readonly ca: string;
  /** The only common name that will do; undefined: any. */
  readonly name?: string | undefined;
}

/** Why a client may not call, or undefined if it may. Its handshake has been done, with its certificate asked for. */
export function unknownClient(socket: TLSSocket, { name }: Pick<KnownClients, 'name'>): string | undefined {
  const { CN: shown } = socket.getPeerCertificate().subject ?? {};
  if (shown === undefined && !socket.authorized) return 'a client certificate is needed: only the API server may call';
  if (!socket.authorized) return `the client certificate is not accepted: ${socket.authorizationError}`;
  return name === undefined || shown === name ? undefined : 'the client certificate has another common name';
}
