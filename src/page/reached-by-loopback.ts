import type { Socket } from 'node:net';

/**
 * Whether a connection came to an address of loopback: from the same machine or pod, or by a port-forward, which begins within the
 * pod's network. No other pod and no Service gets there.
 */
export function isReachedByLoopback({ localAddress = '' }: Pick<Socket, 'localAddress'>): boolean {
  // A listener on `::` has IPv4 addresses in IPv6's clothes.
  return localAddress === '::1' || /^(::ffff:)?127\./.test(localAddress);
}
