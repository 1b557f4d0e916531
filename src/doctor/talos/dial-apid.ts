import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { messageOf } from '../../runtime/error-message.ts';
import { type ConnectionFault, chainOf, connectionFault } from '../facts/dial.ts';

/** Where an apid listens. */
export interface ApidAddress {
  readonly host: string;
  readonly port: number;
}

export function isAt({ host, port }: ApidAddress): (other: ApidAddress) => boolean {
  return (other) => other.host === host && other.port === port;
}

/** An address at which Talos' API was dialled. */
export interface DialledApi extends ApidAddress {
  readonly answer: ApidAnswer;
}

/** What Talos' API shows to a client. */
export type ApidAnswer =
  | { readonly outcome: 'failed'; readonly fault: ConnectionFault }
  | {
      readonly outcome: 'greeted';
      /** Not verified. */
      readonly leaf: X509Certificate;
      /** Why the client certificate is refused, in the words of TLS. Undefined if it is accepted, or not asked for. */
      readonly refusal: string | undefined;
    };

/** The client certificate and its key, PEM: both or none. */
export interface ClientIdentity {
  readonly cert?: string;
  readonly key?: string;
}

/** The beginning of HTTP/2 (RFC 9113, 3.4): the preface, and SETTINGS that change nothing. */
const PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);

/**
 * Connects to apid, accepts any certificate, and begins HTTP/2. No request is sent. With TLS 1.3, a server verifies the client certificate
 * after its own side of the handshake. So only data, or the end of the connection, shows the outcome.
 */
export async function dialApid(
  { host, port }: ApidAddress,
  identity: ClientIdentity,
  timeoutMs: number,
): Promise<ApidAnswer> {
  const late = AbortSignal.timeout(timeoutMs);
  let socket: TLSSocket | undefined;
  let leaf: X509Certificate | undefined;
  try {
    socket = connect({
      host,
      port,
      ...(isIP(host) ? {} : { servername: host }),
      ...identity,
      ALPNProtocols: ['h2'],
      rejectUnauthorized: false,
    });
    // `once` below rejects with the error. Without a listener, the process would end.
    socket.on('error', () => {});
    await once(socket, 'secureConnect', { signal: late });
    [leaf] = chainOf(socket);
    if (leaf === undefined) return failed('it presents no certificate: wrong version number');
    const ended = once(socket, 'close', { signal: late }).then(() => 'end' as const);
    const spoken = once(socket, 'data', { signal: late }).then(() => 'data' as const);
    // The second of the two to fail has no other handler.
    ended.catch(() => {});
    spoken.catch(() => {});
    socket.write(PREFACE);
    const first = await Promise.race([spoken, ended]);
    return { outcome: 'greeted', leaf, refusal: first === 'data' ? undefined : 'it hangs up after the handshake' };
  } catch (error) {
    if (late.aborted) return failed(`timed out: no ${leaf ? 'answer' : 'connection'} within ${timeoutMs} ms`);
    const said = messageOf(error);
    return leaf ? { outcome: 'greeted', leaf, refusal: said } : failed(said);
  } finally {
    socket?.destroy();
  }
}

function failed(message: string): ApidAnswer {
  return { outcome: 'failed', fault: connectionFault(message) };
}
