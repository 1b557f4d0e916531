import { isIP, type Socket } from 'node:net';

/**
 * Whether a connection came to an address of loopback: from the same machine or pod, or by a port-forward, which begins within the
 * pod's network. No other pod and no Service gets there.
 */
export function isReachedByLoopback({ localAddress = '' }: Pick<Socket, 'localAddress'>): boolean {
  // A listener on `::` has IPv4 addresses in IPv6's clothes.
  return localAddress === '::1' || /^(::ffff:)?127\./.test(localAddress);
}

/** Sent with all that belongs to the page: it runs its own scripts alone, speaks to nobody else, and is framed by nobody. */
export const PAGE_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** What of a request says where it comes from: header fields by their lower-case names. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Why a request is not answered, or undefined if it is. Two kinds are refused that come from other pages in the reader's browser:
 *
 * - those for a name that somebody else could own. A page of theirs, at a name that leads here for a moment (DNS rebinding),
 *   would be of one origin with ours. Addresses, `localhost` and a cluster's own names cannot be had like that.
 * - those that the browser itself says are made by a page of another site (Fetch Metadata), other than by following a link.
 */
export function refusal(headers: RequestHeaders): string | undefined {
  const host = text(headers.host);
  if (!isOwnName(host)) return 'open this page by an IP address, as localhost, or as SERVICE.NAMESPACE.svc';
  const site = text(headers['sec-fetch-site']);
  const isLink = text(headers['sec-fetch-mode']) === 'navigate' && text(headers['sec-fetch-dest']) === 'document';
  if (site === 'cross-site' || site === 'same-site') return isLink ? undefined : 'not for pages of other sites';
  return undefined;
}

/** Top-level names that are kept from the public (RFC 6761; kubernetes.io/docs/concepts/services-networking/dns-pod-service). */
const PRIVATE_NAMES = /(^|\.)(localhost|svc|svc\.cluster\.local)$/;

/** @param host `NAME`, `NAME:PORT`, `[ADDRESS]:PORT` */
function isOwnName(host: string): boolean {
  const [, address, other = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(host.toLowerCase()) ?? [];
  if (address !== undefined) return isIP(address) === 6;
  return isIP(other) === 4 || PRIVATE_NAMES.test(other);
}

function text(value: string | string[] | undefined): string {
  return typeof value === 'string' ? value : '';
}
