import { isIP, type Socket } from 'node:net';

/**
 * Whether a connection has a loopback address as its destination. It comes from the same machine or pod, or by a port-forward, which starts
 * within the pod's network. Other pods and Services cannot reach it.
 */
export function isReachedByLoopback({ localAddress = '' }: Pick<Socket, 'localAddress'>): boolean {
  // A listener on `::` has IPv4-mapped IPv6 addresses.
  return localAddress === '::1' || /^(::ffff:)?127\./.test(localAddress);
}

/** Headers of all answers of the page: only its own scripts run, it connects to no other origin, and cannot be framed. */
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

/** The headers of a request by which its origin is checked, by their lower-case names. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Why a request is refused. Undefined if it is accepted. Two kinds are refused, which pages of other sites could send from the user's browser:
 *
 * - Requests for a name that another party could own. Their page could be of the same origin if their name resolved to this address for a
 *   moment (DNS rebinding). Addresses, `localhost` and a cluster's own names cannot be used so.
 * - Requests of a page of another site, by the browser's own headers (Fetch Metadata), except navigation by a link.
 */
export function refusal(headers: RequestHeaders): string | undefined {
  const host = text(headers.host);
  if (!isOwnName(host)) return 'open this page by an IP address, as localhost, or as SERVICE.NAMESPACE.svc';
  const site = text(headers['sec-fetch-site']);
  const isLink = text(headers['sec-fetch-mode']) === 'navigate' && text(headers['sec-fetch-dest']) === 'document';
  if (site === 'cross-site' || site === 'same-site') return isLink ? undefined : 'not for pages of other sites';
  return undefined;
}

/** Top-level names that cannot be registered (RFC 6761; kubernetes.io/docs/concepts/services-networking/dns-pod-service). */
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
