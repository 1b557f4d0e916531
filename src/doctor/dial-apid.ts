import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { type ConnectionFault, chainOf, connectionFault } from './dial.ts';

/** What Talos' API shows to somebody who dials it. */
export type ApidAnswer =
  | { readonly outcome: 'failed'; readonly fault: ConnectionFault }
  | {
      readonly outcome: 'greeted';
      /** Whose it is, is not asked here. */
      readonly leaf: X509Certificate;
      /** Why the client certificate is refused, as TLS says it; undefined where it is accepted, or none is asked for. */
      readonly refusal: string | undefined;
    };

/** Our side of the handshake, PEM; both or none. */
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
 * Shakes hands with apid, whatever its certificate, and begins HTTP/2. With TLS 1.3 a server judges the client certificate after its own
 * side of the handshake: only that it speaks, or hangs up, says what it thinks of it. No request is sent.
 */
export async function dialApid(
  { host, port }: { readonly host: string; readonly port: number },
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
    // The error that counts is the one that is waited for.
    socket.on('error', () => {});
    await once(socket, 'secureConnect', { signal: late });
    [leaf] = chainOf(socket);
    if (leaf === undefined) return failed('it presents no certificate: wrong version number');
    const ended = once(socket, 'close', { signal: late }).then(() => 'end' as const);
    const spoken = once(socket, 'data', { signal: late }).then(() => 'data' as const);
    // Whichever comes second is nobody's.
    ended.catch(() => {});
    spoken.catch(() => {});
    socket.write(PREFACE);
    const first = await Promise.race([spoken, ended]);
    return { outcome: 'greeted', leaf, refusal: first === 'data' ? undefined : 'it hangs up after the handshake' };
  } catch (error) {
    const { message, code, name } = error as NodeJS.ErrnoException;
    if (late.aborted) return failed(`timed out: no ${leaf ? 'answer' : 'connection'} within ${timeoutMs} ms`);
    const said = message || code || name;
    return leaf ? { outcome: 'greeted', leaf, refusal: alertIn(said) } : failed(said);
  } finally {
    socket?.destroy();
  }
}

function failed(message: string): ApidAnswer {
  return { outcome: 'failed', fault: connectionFault(message) };
}

/** `tlsv1 alert unknown ca` out of OpenSSL's whole line. */
function alertIn(message: string): string {
  return /(alert [a-z ]+)/.exec(message)?.[1] ?? message;
}
