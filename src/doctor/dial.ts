import type { X509Certificate } from 'node:crypto';
import { X509Certificate as Certificate } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { json } from 'node:stream/consumers';
import { connect, type DetailedPeerCertificate, type TLSSocket } from 'node:tls';
import { selfCheckReview } from '../cluster/optional-rights.ts';
import { type ConnectionFault, connectionFault } from './connection-fault.ts';

/** What a webhook shows to somebody who dials it. */
export interface Greeting {
  /** The certificates that it serves, the leaf first. Whether anybody trusts them is not asked. */
  readonly chain: readonly X509Certificate[];
  /** Why its answer to an AdmissionReview is none, or undefined if it is one. */
  readonly refusal: string | undefined;
  /** Its clock, in milliseconds since the epoch, minus ours; undefined if it does not say. */
  readonly clockAheadMs: number | undefined;
}

export type Dialled =
  | { readonly outcome: 'greeted'; readonly greeting: Greeting }
  | { readonly outcome: 'failed'; readonly fault: ConnectionFault };

/** Where to: an address, or a connection that somebody else has opened. */
export type Line = { readonly host: string; readonly port: number } | { readonly socket: Duplex };

/** Shakes hands as the API server does, whatever the certificate, and sends a review that is about nothing. */
export async function dial(line: Line, servername: string, timeoutMs: number): Promise<Dialled> {
  const lost = new AbortController();
  const late = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([late, lost.signal]);
  let socket: TLSSocket | undefined;
  let step = 'TCP connection';
  try {
    // TLS does not hear of it when the connection under it fails.
    if ('socket' in line) {
      if (line.socket.errored) throw line.socket.errored;
      line.socket.on('error', (error) => lost.abort(error));
      step = 'TLS handshake';
    }
    socket = connect({ ...line, servername, rejectUnauthorized: false });
    // The error that counts is the one that is waited for.
    socket.on('error', () => {});
    socket.once('connect', () => {
      step = 'TLS handshake';
    });
    await once(socket, 'secureConnect', { signal });
    step = 'answer to a review';
    const chain = chainOf(socket);
    return { outcome: 'greeted', greeting: { chain, ...(await ask(socket, servername, signal)) } };
  } catch (error) {
    const { message, code, name } = (lost.signal.aborted ? lost.signal.reason : error) as NodeJS.ErrnoException;
    const isLate = late.aborted && !lost.signal.aborted;
    const text = isLate ? `timed out: no ${step} within ${timeoutMs} ms` : message || code || name;
    return { outcome: 'failed', fault: connectionFault(text) };
  } finally {
    socket?.destroy();
  }
}

async function ask(
  socket: TLSSocket,
  host: string,
  signal: AbortSignal,
): Promise<Pick<Greeting, 'refusal' | 'clockAheadMs'>> {
  const review = selfCheckReview();
  const outgoing = request({
    createConnection: () => socket,
    method: 'POST',
    path: '/validate',
    headers: { host, 'content-type': 'application/json' },
    signal,
  });
  outgoing.end(review.body);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const clockAheadMs = clockAhead(response.headers.date);
  const answer = await json(response).catch(() => undefined);
  return { refusal: review.refusal(response.statusCode, answer), clockAheadMs };
}

/** How far the clock behind a `Date` header is ahead of ours, in milliseconds; the header counts whole seconds. */
export function clockAhead(date: string | undefined): number | undefined {
  const time = Date.parse(date ?? '');
  return Number.isNaN(time) ? undefined : time + 500 - Date.now();
}

function chainOf(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let next: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  while (next?.raw && !chain.some(({ raw }) => raw.equals(next?.raw as Buffer))) {
    chain.push(new Certificate(next.raw));
    next = next.issuerCertificate;
  }
  return chain;
}
