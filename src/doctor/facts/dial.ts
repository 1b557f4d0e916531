import type { X509Certificate } from 'node:crypto';
import { X509Certificate as Certificate } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { json } from 'node:stream/consumers';
import { connect, type DetailedPeerCertificate, type TLSSocket } from 'node:tls';
import { selfCheckReview } from '../../cluster/installation/self-check-review.ts';
import { messageOf } from '../../runtime/error-message.ts';

/**
 * How a connection fails.
 * - `refused`: the address answers that nothing listens there.
 * - `silent`: no answer, for example because packets are lost.
 * - `unreachable`: there is no route from here.
 * - `closed`: the other side closes the connection, or does not speak TLS.
 * - `certificate`: the TLS handshake fails, so network and process work.
 * - `stranger`: TLS works, and the webhook accepts known clients only (`serve --client-ca`).
 * - `foreign`: TLS works, and the other side is not the webhook.
 */
export type FaultKind =
  | 'stranger'
  | 'foreign'
  | 'refused'
  | 'silent'
  | 'unreachable'
  | 'closed'
  | 'certificate'
  | 'other';

export interface ConnectionFault {
  readonly kind: FaultKind;
  /** In the words of the client that tried it. */
  readonly message: string;
}

/** The first that fits, in this order: `dial tcp 10.0.0.1:443: i/o timeout` is of Go, `connect ETIMEDOUT` of Node.js. */
const SIGNS: readonly (readonly [FaultKind, RegExp])[] = [
  ['stranger', /asked for the client to provide credentials/],
  ['certificate', /x509:|certificate|tls: (?!first record)/i],
  ['refused', /ECONNREFUSED|connection refused/],
  ['silent', /ETIMEDOUT|i\/o timeout|deadline exceeded|Client\.Timeout|no answer within|handshake timeout|timed out/i],
  [
    'unreachable',
    /EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|ENOTFOUND|EAI_AGAIN|no route to host|network is unreachable|no such host/,
  ],
  [
    'closed',
    /ECONNRESET|EPIPE|socket hang up|connection reset|\bEOF\b|broken pipe|connection was closed|before secure TLS|wrong version number|first record does not look|packet length too long/,
  ],
];

export function connectionFault(message: string): ConnectionFault {
  return { kind: SIGNS.find(([, sign]) => sign.test(message))?.[0] ?? 'other', message };
}

/** What each kind means to the user. */
export const FAULT_MEANINGS: Readonly<Record<FaultKind, string>> = {
  refused: 'connection refused: nothing listens on the port',
  silent: 'no answer: packets are lost on the way, or the process hangs',
  unreachable: 'unreachable: no route, or the name is not resolved',
  closed: 'something other than the webhook listens there, or it closes the connection at once',
  stranger: 'it was reached, and accepts known clients only (serve --client-ca)',
  certificate: 'it was reached, and its certificate is not accepted',
  foreign: 'something other than taintkeeper answers',
  other: 'the call fails',
};

/** What a webhook shows to a client. */
export interface Greeting {
  /** The certificates that it serves, the leaf first. They are not verified. */
  readonly chain: readonly X509Certificate[];
  /** Why its answer is not a valid AdmissionReview, if it is not. */
  readonly refusal: string | undefined;
  /** How far its clock is ahead of ours, in milliseconds. Undefined if its answer has no Date. */
  readonly clockAheadMs: number | undefined;
}

export type Dialled =
  | { readonly outcome: 'greeted'; readonly greeting: Greeting }
  | { readonly outcome: 'failed'; readonly fault: ConnectionFault };

/** An address, or a connection that is open already. */
export type Line = { readonly host: string; readonly port: number } | { readonly socket: Duplex };

/** The address as in a URL: an IPv6 address in brackets. */
export function hostPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export interface DialLimits {
  /** Limit for the TCP connection. It does not apply to an open connection. */
  readonly connectMs: number;
  /** Limit for the TLS handshake and the answer after it: the replica and this machine can be busy. */
  readonly answerMs: number;
}

/** Connects as the API server does, accepts any certificate, and sends a review of no object. */
export async function dial(line: Line, servername: string, { connectMs, answerMs }: DialLimits): Promise<Dialled> {
  const lost = new AbortController();
  let step = 'TCP connection';
  const limit = (ms: number) => setTimeout(() => lost.abort(new Error(`timed out: no ${step} within ${ms} ms`)), ms);
  let timer = limit('socket' in line ? answerMs : connectMs);
  const { signal } = lost;
  let socket: TLSSocket | undefined;
  try {
    // A TLSSocket emits no error when the connection under it fails.
    if ('socket' in line) {
      if (line.socket.errored) throw line.socket.errored;
      line.socket.on('error', (error) => lost.abort(error));
      step = 'TLS handshake';
    }
    socket = connect({ ...line, servername, rejectUnauthorized: false });
    // `once` below rejects with the error. Without a listener, the process would end.
    socket.on('error', () => {});
    socket.once('connect', () => {
      if ('socket' in line) return;
      step = 'TLS handshake';
      clearTimeout(timer);
      timer = limit(answerMs);
    });
    await once(socket, 'secureConnect', { signal });
    step = 'answer to a review';
    const chain = chainOf(socket);
    return { outcome: 'greeted', greeting: { chain, ...(await ask(socket, servername, signal)) } };
  } catch (error) {
    return { outcome: 'failed', fault: connectionFault(messageOf(lost.signal.aborted ? lost.signal.reason : error)) };
  } finally {
    clearTimeout(timer);
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
    path: review.path,
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

/** The certificates that the other side has shown, the leaf first. */
export function chainOf(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let next: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  while (next?.raw && !chain.some(({ raw }) => raw.equals(next?.raw as Buffer))) {
    chain.push(new Certificate(next.raw));
    next = next.issuerCertificate;
  }
  return chain;
}
