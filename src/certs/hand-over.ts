import type { CaTrust } from './ca-trust.ts';
import type { ServableCertificates } from './certificate-directory.ts';
import { chainFault, chainInvalidAt } from './inspect.ts';

/** Whether the next certificates are served. While they are not, the earlier ones are. */
export type HandOver =
  | { readonly kind: 'served' }
  /** No caller would accept them. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The callers may not trust their CA yet. `waitMs` is Infinity while that is not known. Until then, the bundle must have the CAs of both. */
  | { readonly kind: 'untrusted'; readonly waitMs: number };

export const SERVED: HandOver = { kind: 'served' };

/**
 * Decides whether certificates are served in place of earlier ones: at once if those are not valid, and otherwise once the callers accept the next ones.
 * @param now by the callers' clock, or by the local one if they are not known
 * @param trust the callers' trust. Undefined if they are not known: they may call by other names, and trust another CA than that of the bundle
 */
export function judgeHandOver(
  served: ServableCertificates,
  next: ServableCertificates,
  now: Date,
  trust: Pick<CaTrust, 'waitMs'> | undefined,
): HandOver {
  if (isSamePair(served, next)) return SERVED;
  if (trust && served.uncovered.length > 0) return SERVED;
  if (invalidNow(served, now) !== undefined) return SERVED;
  const reason = trust ? chainFault(next.serving.cert, next.bundle, next.uncovered, now) : invalidNow(next, now);
  if (reason !== undefined) return { kind: 'refused', reason };
  const waitMs = trust ? untrustedMs(served, next, trust) : 0;
  return waitMs > 0 ? { kind: 'untrusted', waitMs } : SERVED;
}

/** Why the next certificates are refused, as text; undefined if they are not. */
export function refusalOf(handOver: HandOver, where: string): string | undefined {
  return handOver.kind === 'refused' ? notServed(where, handOver.reason) : undefined;
}

/** That certificates are not served, as text. */
export function notServed(where: string, reason: string): string {
  return `${where}: ${reason}; the last good certificates are served`;
}

function invalidNow({ serving, bundle }: ServableCertificates, now: Date): string | undefined {
  return chainInvalidAt(serving.cert, bundle, now);
}

/** How long until the callers trust the CA of the next certificates, in milliseconds. */
function untrustedMs(served: ServableCertificates, next: ServableCertificates, trust: Pick<CaTrust, 'waitMs'>): number {
  // Without a CA beside them, the system's CAs decide about trust.
  if (served.ca === undefined || next.ca === undefined) return 0;
  return served.ca.fingerprint256 === next.ca.fingerprint256 ? 0 : trust.waitMs(next.ca);
}

export function isSamePair({ serving: a }: ServableCertificates, { serving: b }: ServableCertificates): boolean {
  return a.cert === b.cert && a.key === b.key;
}
