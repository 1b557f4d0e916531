import type { CaTrust } from './ca-trust.ts';
import type { ServableCertificates } from './certificate-directory.ts';

/**
 * How long until the next certificates may be served in place of valid ones, in milliseconds: until the callers trust their CA. Infinity while they do
 * not. Until then, the bundle must have the CAs of both.
 */
export function handOverMs(
  served: ServableCertificates,
  next: ServableCertificates,
  trust: Pick<CaTrust, 'waitMs'>,
): number {
  // Without a CA beside them, the system's CAs decide about trust.
  if (served.ca === undefined || next.ca === undefined) return 0;
  return served.ca.fingerprint256 === next.ca.fingerprint256 ? 0 : trust.waitMs(next.ca);
}

export function isSamePair({ serving: a }: ServableCertificates, { serving: b }: ServableCertificates): boolean {
  return a.cert === b.cert && a.key === b.key;
}
