import type { X509Certificate } from 'node:crypto';
import { fingerprints, parseCertificates } from './bundle.ts';
import { isTrusted } from './chain.ts';
import { PROPAGATION_MS } from './rotation.ts';

/** By what a caller accepts a certificate: a CA, or those of its system. The API server uses these if a `caBundle` is empty. */
export type Anchor = X509Certificate | 'system';

/** Which CAs the callers trust, and since when. A caller that received a CA a moment ago may not use it yet. */
export interface CaTrust {
  /**
   * For how long every `caBundle` has had the CA, or has been empty, in milliseconds. Infinity if none was ever seen otherwise. Undefined while one
   * is otherwise, and before they have been read. If no webhook is registered, no API server calls, and every CA is trusted.
   */
  trustedForMs(anchor: Anchor): number | undefined;
  /** How long until a certificate of it may be served, in milliseconds; Infinity while {@link trustedForMs} is undefined. */
  waitMs(anchor: Anchor): number;
  /**
   * By what callers accept a certificate that comes without its CA. Undefined if every `caBundle` has CAs, and none that all of them have is its CA.
   * `system` also if no webhook is registered, and before they have been read.
   */
  anchorOf(chain: readonly X509Certificate[], time: Date): Anchor | undefined;
}

/** {@link CaTrust}, updated from the registered webhooks. */
export interface CaTrustTracker extends CaTrust {
  /** @param caBundles the current `caBundle` of every webhook, PEM */
  observe(caBundles: readonly string[]): void;
}

/** In place of a fingerprint. */
const SYSTEM = '';

export function trackCaTrust(): CaTrustTracker {
  /** By performance.now(). */
  let firstAt: number | undefined;
  /** By fingerprint, since when every bundle has the CA; by {@link SYSTEM}, since when all are empty. Undefined while there is no bundle. */
  let inAll: ReadonlyMap<string, number> | undefined;
  /** Since when no bundle exists. */
  let noneSince = Number.NEGATIVE_INFINITY;
  let cas: readonly X509Certificate[] = [];

  const keyOf = (anchor: Anchor) => (anchor === 'system' ? SYSTEM : anchor.fingerprint256);
  const since = (anchor: Anchor) => inAll?.get(keyOf(anchor)) ?? (inAll ? undefined : noneSince);

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
      const areEmpty = caBundles.every((bundle) => bundle === '');
      const [first = [], ...others] = areEmpty ? [[SYSTEM]] : caBundles.map(fingerprints);
      const common = first.filter((one) => others.every((bundle) => bundle.includes(one)));
      // An API server that knew of no webhook receives the first one together with its CA.
      inAll = new Map(common.map((one) => [one, before ? (before.get(one) ?? changedAt) : noneSince]));
      cas = parseCertificates(caBundles[0]).filter(({ fingerprint256 }) => common.includes(fingerprint256));
    },
    trustedForMs(anchor) {
      const from = firstAt === undefined ? undefined : since(anchor);
      return from === undefined ? undefined : performance.now() - from;
    },
    waitMs(anchor) {
      const from = since(anchor);
      if (firstAt === undefined || from === undefined) return Number.POSITIVE_INFINITY;
      // A configuration that was registered before the first read may be a moment old.
      return Math.max(0, Math.max(from, firstAt) + PROPAGATION_MS - performance.now());
    },
    anchorOf(chain, time) {
      if (inAll === undefined || inAll.has(SYSTEM)) return 'system';
      return cas.find((ca) => isTrusted(chain, [ca], time));
    },
  };
}
