import type { X509Certificate } from 'node:crypto';
import { fingerprints } from './bundle.ts';
import { PROPAGATION_MS } from './rotation.ts';

/** Which CAs the callers trust, and since when. A caller that received a CA a moment ago may not use it yet. */
export interface CaTrust {
  /**
   * For how long every `caBundle` has had the CA, in milliseconds. Infinity if none was ever seen without it. Undefined while one lacks it, and
   * before they have been read. If no webhook is registered, no API server calls, and every CA is trusted.
   */
  trustedForMs(ca: X509Certificate): number | undefined;
  /** How long until a certificate of the CA may be served, in milliseconds; Infinity while a `caBundle` lacks it. */
  waitMs(ca: X509Certificate): number;
}

/** {@link CaTrust}, updated from the registered webhooks. */
export interface CaTrustTracker extends CaTrust {
  /** @param caBundles the current `caBundle` of every webhook, PEM */
  observe(caBundles: readonly string[]): void;
}

export function trackCaTrust(): CaTrustTracker {
  /** By performance.now(). */
  let firstAt: number | undefined;
  /** By fingerprint, since when every bundle has the CA. Undefined while there is no bundle. */
  let inAll: ReadonlyMap<string, number> | undefined;
  /** Since when no bundle exists. */
  let noneSince = Number.NEGATIVE_INFINITY;

  const since = ({ fingerprint256 }: X509Certificate) => inAll?.get(fingerprint256) ?? (inAll ? undefined : noneSince);

  return {
    observe(caBundles) {
      const changedAt = firstAt === undefined ? Number.NEGATIVE_INFINITY : performance.now();
      firstAt ??= performance.now();
      const before = inAll;
      if (caBundles.length === 0) {
        if (before) noneSince = changedAt;
        inAll = undefined;
        return;
      }
      const [first = [], ...others] = caBundles.map(fingerprints);
      const common = first.filter((one) => others.every((bundle) => bundle.includes(one)));
      // An API server that knew of no webhook receives the first one together with its CA.
      inAll = new Map(common.map((one) => [one, before ? (before.get(one) ?? changedAt) : noneSince]));
    },
    trustedForMs(ca) {
      const from = firstAt === undefined ? undefined : since(ca);
      return from === undefined ? undefined : performance.now() - from;
    },
    waitMs(ca) {
      const from = since(ca);
      if (firstAt === undefined || from === undefined) return Number.POSITIVE_INFINITY;
      // A configuration that was registered before the first read may be a moment old.
      return Math.max(0, Math.max(from, firstAt) + PROPAGATION_MS - performance.now());
    },
  };
}
