import type { X509Certificate } from 'node:crypto';
import { fingerprints, joinBundles, parseCertificates } from '../../certs/bundle.ts';
import { invalidAt } from '../../certs/inspect.ts';

export interface CarriedCasOptions {
  /** Every `caBundle` that is registered with the API server, PEM. */
  readonly registered: () => readonly string[];
  /** How long a CA stays in a `caBundle` after our certificates no longer have it, in milliseconds. */
  readonly overlapMs: number;
  /** For how many milliseconds every CA stays, because replicas have certificates of different sources. */
  readonly othersStayForMs: () => number;
  /** The API server's clock. */
  readonly now: () => Date;
}

/**
 * The CAs of a `caBundle` where the certificates are in files. The replicas see new files at different times (a sync of the kubelet takes a minute or
 * two), and no replica knows what the others serve. A registered CA that our files do not have therefore stays for a while. Other replicas may still
 * serve a certificate of it. They may also serve it already, if an earlier leader had newer files.
 *
 * Where the certificates are in the Secret, its bundle has all CAs that replicas need. Registered ones stay only while other replicas have certificates
 * of another source.
 */
export interface CarriedCas {
  /**
   * Merges our CAs and the registered ones that stay. Each call notes since when our files lack a registered CA.
   * @param own the CAs of our own files, PEM. Undefined if they have none: then the registered CAs stay, because the file may be damaged.
   * @param isOfServed whether a CA of them signed the served certificate. If not, the registered CAs stay, too: the file may be wrong
   * @returns undefined for no CA: then the API server uses the CAs of its system
   */
  merge(own: string | undefined, isOfServed: boolean): string | undefined;
  /** In how many milliseconds the next CA is removed from the bundle that was merged last; Infinity for never. */
  dueInMs(): number;
}

export function carriedCas({ registered, overlapMs, othersStayForMs, now }: CarriedCasOptions): CarriedCas {
  /** When our files were first seen without a CA, by its fingerprint. In milliseconds of performance.now(). */
  const missing = new Map<string, number>();
  /** The CAs of the last bundle that our files do not have. */
  let carriedNow: readonly string[] = [];

  return {
    merge(own, isOfServed) {
      if (own === undefined) {
        carriedNow = [];
        const isValid = (pem: string) => parseCertificates(pem).some((ca) => invalidAt(ca, now()) === undefined);
        return joinBundles(...registered().filter(isValid));
      }
      const ours = fingerprints(own);
      const present = registered().flatMap(parseCertificates);
      const known = new Set(present.map(({ fingerprint256 }) => fingerprint256));
      // A CA that was removed, and that a replica has added again, stays for as long again.
      for (const one of missing.keys()) if (ours.includes(one) || !known.has(one)) missing.delete(one);
      const carried = present.filter(
        (ca) => !ours.includes(ca.fingerprint256) && invalidAt(ca, now()) === undefined && (!isOfServed || stays(ca)),
      );
      carriedNow = isOfServed ? carried.map(({ fingerprint256 }) => fingerprint256) : [];
      return joinBundles(own, ...carried.map(String));
    },
    dueInMs() {
      // The time of a CA may have ended while the bundle was written.
      const othersMs = othersStayForMs();
      return Math.min(
        ...carriedNow.map((one) => Math.max(othersMs, (missing.get(one) ?? 0) + overlapMs - performance.now())),
      );
    },
  };

  function stays({ fingerprint256 }: X509Certificate): boolean {
    const since = missing.get(fingerprint256) ?? performance.now();
    missing.set(fingerprint256, since);
    return performance.now() < since + overlapMs || othersStayForMs() > 0;
  }
}
