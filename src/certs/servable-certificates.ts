import { X509Certificate } from 'node:crypto';
import { parseCertificates } from './bundle.ts';
import { chainFault, chainInvalidAt, signerOf } from './chain.ts';
import type { KeyPair } from './issue.ts';
import type { CompleteFiles } from './stored-files.ts';

/** Certificates that can be served. */
export interface ServableCertificates {
  readonly serving: KeyPair;
  /** The serving pair's certificate, parsed. */
  readonly certificate: X509Certificate;
  /** The CA of `ca.crt` to which the certificate leads. Undefined if the files come from another issuer, and `ca.crt` does not have its CA. */
  readonly ca: X509Certificate | undefined;
  /** The CAs that callers must trust, PEM: the content of a `caBundle`. Undefined if none is known. */
  readonly bundle: string | undefined;
  /** What taintkeeper renews: nothing of a pair from another issuer. */
  readonly renews: 'nothing' | 'serving' | 'all';
  /** Requested names that the certificate does not have. Always empty for a pair that taintkeeper issued. */
  readonly uncovered: readonly string[];
}

/** Certificates that a CA of the bundle signed, and taintkeeper renews. */
export function servableOf({ cert, key, bundle }: CompleteFiles, renews: 'serving' | 'all'): ServableCertificates {
  const certificate = new X509Certificate(cert);
  const ca = signerOf(certificate, parseCertificates(bundle));
  return { serving: { cert, key }, certificate, ca, bundle, renews, uncovered: [] };
}

/** {@link chainInvalidAt} of the serving certificate. */
export function servableInvalidAt({ serving, bundle }: ServableCertificates, time: Date): string | undefined {
  return chainInvalidAt(parseCertificates(serving.cert), parseCertificates(bundle), time);
}

/**
 * {@link chainFault} of the serving certificate for clients that trust its bundle.
 * @param uncovered the names by which they call, and that the certificate does not have
 */
export function servableFault(
  { serving, bundle }: ServableCertificates,
  uncovered: readonly string[],
  time: Date,
): string | undefined {
  return chainFault(parseCertificates(serving.cert), parseCertificates(bundle), uncovered, time);
}
