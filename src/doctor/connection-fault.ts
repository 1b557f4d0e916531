/**
 * How a connection fails, which tells where to look. `refused`: the address answers that nothing listens there. `silent`: no
 * answer at all, as when packets are dropped. `unreachable`: there is no way there from here. `closed`: the other side hangs
 * up, or speaks no TLS. `certificate`: TLS, so network and process are well. `stranger`: so is TLS, but the webhook takes calls
 * from known clients alone (`serve --client-ca`).
 */
export type FaultKind = 'stranger' | 'refused' | 'silent' | 'unreachable' | 'closed' | 'certificate' | 'other';

export interface ConnectionFault {
  readonly kind: FaultKind;
  /** As whoever tried it said it. */
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

/** What the kind means to whoever has to find the cause. */
export const FAULT_MEANINGS: Readonly<Record<FaultKind, string>> = {
  refused: 'the connection is refused: the address is there, and nothing listens on the port',
  silent: 'no answer: packets are dropped on the way, or the process hangs',
  unreachable: 'there is no way there',
  closed: 'something listens there that is not the webhook, or hangs up at once',
  stranger: 'it is reached, and takes calls from clients that it knows alone (serve --client-ca)',
  certificate: 'it is reached, and its certificate is not accepted',
  other: 'it fails',
};
