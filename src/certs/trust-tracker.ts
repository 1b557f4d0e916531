import type { X509Certificate } from 'node:crypto';
import { PROPAGATION_MS } from './rotation.ts';

export interface TrustOptions {
  /** Whether everybody who calls has been told to trust this CA. */
  readonly isTrusted: (ca: X509Certificate) => boolean;
}

/** Since when CAs are trusted: who was told a moment ago may not act by it yet. */
export interface TrustTracker {
  /** How long it takes until all of them have been trusted for long enough, in milliseconds; Infinity if one is not trusted. */
  waitMs(cas: readonly X509Certificate[]): number;
}

export function trackTrust({ isTrusted }: TrustOptions): TrustTracker {
  /** By fingerprint, by performance.now(). */
  const since = new Map<string, number>();
  return {
    waitMs(cas) {
      const now = performance.now();
      const asked = new Set(cas.map(({ fingerprint256 }) => fingerprint256));
      // Nobody watches meanwhile whether it still is.
      for (const one of since.keys()) if (!asked.has(one)) since.delete(one);
      const waits = cas.map((ca) => {
        if (!isTrusted(ca)) {
          since.delete(ca.fingerprint256);
          return Number.POSITIVE_INFINITY;
        }
        const trusted = since.get(ca.fingerprint256) ?? now;
        since.set(ca.fingerprint256, trusted);
        return trusted + PROPAGATION_MS - now;
      });
      return Math.max(0, ...waits);
    },
  };
}
