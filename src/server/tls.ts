import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { oncePer } from '../collections/once-per.ts';

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
    // A client of TLS 1.2 could repeat the expensive half of a handshake on one connection.
    // With a ticket, a client's certificate would stay valid after a change of the CA.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | (clientCa === undefined ? 0 : constants.SSL_OP_NO_TICKET),
    ...(clientCa === undefined ? {} : { ca: clientCa }),
  } as const;
}

/** Which clients may call: those with a certificate of these CAs. */
export interface KnownClients {
  /** PEM. */
  readonly ca: string;
}

/** What the connection says about a client, which the client cannot forge. */
export interface ConnectedClient {
  /** Why it may not call; undefined if it may. */
  readonly objection: string | undefined;
  /** Its address, and the common name of its certificate if one is required. */
  readonly origin: string;
}

/**
 * Identifies the client of a connection after its handshake.
 * @param asked whether a certificate is required; otherwise every client may call
 */
export function identifyClients(asked: boolean): (socket: Socket) => ConnectedClient {
  // Parsing a certificate costs as much as judging a request, and a connection never shows another one.
  return oncePer((socket) => identify(socket, asked));
}

function identify(socket: Socket, asked: boolean): ConnectedClient {
  const address = socket.remoteAddress ?? '';
  if (!asked) return { objection: undefined, origin: address };
  const tls = socket as TLSSocket;
  const { CN: shown } = tls.getPeerCertificate().subject ?? {};
  const origin = shown === undefined ? address : `${address} ${shown}`;
  return { objection: objectionTo(tls, shown), origin };
}

function objectionTo(
  { authorized, authorizationError }: TLSSocket,
  shown: string | string[] | undefined,
): string | undefined {
  if (shown === undefined && !authorized) return 'a client certificate is needed: only the API server may call';
  if (!authorized) return `the client certificate is not accepted: ${authorizationError}`;
  return undefined;
}
