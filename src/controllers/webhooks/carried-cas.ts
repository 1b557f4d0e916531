import type { X509Certificate } from 'node:crypto';
import { fingerprints, invalidAt, joinBundles, parseCertificates } from '../../certs/inspect.ts';

export interface CarriedCasOptions {
  /** Every `caBundle` that is registered with the API server, PEM. */
  readonly registered: () => readonly string[];
  /** How long a CA stays that only a `caBundle` has, in milliseconds. */
  readonly overlapMs: number;
  /** The API server's clock. */
  readonly now: () => Date;
}

/**
 * What belongs into a `caBundle` where each replica has its certificates from files: they see new ones at different times (a
 * kubelet's sync takes a minute or two), and nobody knows what the others serve. So a CA that is registered and not in our
 * files stays for a while: other replicas may serve a certificate of it still, or, where a leader before us had seen newer
 * files, already.
 */
export interface CarriedCas {
  /**
   * @param own the CAs of our own files, PEM. Undefined if they name none: then the registered ones stay for as long as that lasts, because the
   * file may be damaged. Without any, the API server uses the CAs of its system.
   */
  bundle(own: string | undefined): string | undefined;
  /** When the next CA of the last bundle leaves it, in milliseconds from now; Infinity if none is to. */
  dueInMs(): number;
}

export function carriedCas({ registered, overlapMs, now }: CarriedCasOptions): CarriedCas {
  /** Since when our files are without a CA, by fingerprint, by performance.now(). */
  const missing = new Map<string, number>();
  /** The last bundle's CAs that our files do not have. */
  let carriedNow: readonly string[] = [];

  return {
    bundle(own) {
      if (own === undefined) {
        carriedNow = [];
        const isValid = (pem: string) => parseCertificates(pem).some((ca) => invalidAt(ca, now()) === undefined);
        return joinBundles(...registered().filter(isValid));
      }
      const ours = fingerprints(own);
      for (const one of ours) missing.delete(one);
      const carried = registered()
        .flatMap(parseCertificates)
        .filter((ca) => !ours.includes(ca.fingerprint256) && invalidAt(ca, now()) === undefined && stays(ca));
      carriedNow = carried.map(({ fingerprint256 }) => fingerprint256);
      return joinBundles(own, ...carried.map(String));
    },
    dueInMs() {
      // Its time may have ended while the bundle was written.
      return Math.min(...carriedNow.map((one) => Math.max(0, (missing.get(one) ?? 0) + overlapMs - performance.now())));
    },
  };

  function stays({ fingerprint256 }: X509Certificate): boolean {
    const since = missing.get(fingerprint256) ?? performance.now();
    missing.set(fingerprint256, since);
    return performance.now() < since + overlapMs;
  }
}
