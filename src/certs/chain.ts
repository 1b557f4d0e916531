import type { X509Certificate } from 'node:crypto';
import { notFor } from './certificate-names.ts';
import { invalidAt } from './inspect.ts';

export const NOT_SIGNED = 'not signed by the CA';

/**
 * Why clients that trust these CAs, or those of the system if there are none, refuse a chain of certificates.
 * @param uncovered the names by which they call, and that the first certificate does not have
 */
export function chainFault(
  chain: readonly X509Certificate[],
  cas: readonly X509Certificate[],
  uncovered: readonly string[],
  time: Date,
): string | undefined {
  if (cas.length > 0 && !leadsTo(chain, cas)) return NOT_SIGNED;
  return notFor(uncovered) ?? chainInvalidAt(chain, cas, time);
}

/**
 * Whether the first certificate leads to one of the CAs, by the others of its chain in any order. Only signatures are checked, and neither the names nor
 * the validity of a certificate.
 */
function leadsTo(chain: readonly X509Certificate[], cas: readonly X509Certificate[]): boolean {
  return pathTo(chain, cas) !== undefined;
}

/**
 * The certificates from the first one of the chain to a CA, with both. Undefined if it leads to none. A cross-signed intermediate CA has several
 * certificates of one name and key, and only one of them may lead to a CA.
 */
function pathTo(
  [leaf, ...others]: readonly X509Certificate[],
  cas: readonly X509Certificate[],
): readonly X509Certificate[] | undefined {
  /** The others that were tried, each once: issuers may sign each other. */
  const tried = new Set<X509Certificate>();
  return leaf && pathFrom(leaf);

  function pathFrom(certificate: X509Certificate): readonly X509Certificate[] | undefined {
    const ca = cas.find(
      (one) => one.fingerprint256 === certificate.fingerprint256 || certificate.verify(one.publicKey),
    );
    if (ca) return [certificate, ca];
    for (const issuer of others) {
      if (tried.has(issuer) || !certificate.checkIssued(issuer) || !certificate.verify(issuer.publicKey)) continue;
      tried.add(issuer);
      const path = pathFrom(issuer);
      if (path) return [certificate, ...path];
    }
    return undefined;
  }
}

/** Whether a client that trusts these CAs accepts the issuers of the chain's first certificate: it leads to a CA, and all up to that are valid. */
export function isTrusted(chain: readonly X509Certificate[], cas: readonly X509Certificate[], time: Date): boolean {
  return leadsTo(chain, cas) && issuersInvalidAt(chain, cas, time) === undefined;
}

/** Why the chain leads to no CA by issuers that are valid at that time. Undefined if it does, and if it leads to none at any time. */
export function issuersInvalidAt(
  [leaf, ...others]: readonly X509Certificate[],
  cas: readonly X509Certificate[],
  time: Date,
): string | undefined {
  if (leaf === undefined) return undefined;
  const isValid = (certificate: X509Certificate) => invalidAt(certificate, time) === undefined;
  if (leadsTo([leaf, ...others.filter(isValid)], cas.filter(isValid))) return undefined;
  const [, ...issuers] = pathTo([leaf, ...others], cas) ?? [];
  const invalid = issuers.find((issuer) => !isValid(issuer));
  return invalid && `the CA is ${invalidAt(invalid, time)}`;
}

/**
 * {@link invalidAt} of the first certificate of a chain, and of its issuers up to one of the CAs, if they are known: clients refuse a certificate of a CA
 * that is not valid.
 */
export function chainInvalidAt(
  chain: readonly X509Certificate[],
  cas: readonly X509Certificate[],
  time: Date,
): string | undefined {
  const [leaf] = chain;
  return (leaf && invalidAt(leaf, time)) ?? issuersInvalidAt(chain, cas, time);
}

/** The CA that signed the certificate. There may be no CAs: cert-manager leaves `ca.crt` empty if it does not know the CA. */
export function signerOf(certificate: X509Certificate, cas: readonly X509Certificate[]): X509Certificate | undefined {
  return lastingFirst(cas).find((ca) => certificate.verify(ca.publicKey));
}

/** The CA to which the chain leads, by intermediate CAs or without. */
export function caOf(chain: readonly X509Certificate[], cas: readonly X509Certificate[]): X509Certificate | undefined {
  return pathTo(chain, lastingFirst(cas))?.at(-1);
}

/** The CA that lasts longest first: a CA may have been renewed with its key. */
function lastingFirst(cas: readonly X509Certificate[]): X509Certificate[] {
  return cas.toSorted((a, b) => b.validToDate.getTime() - a.validToDate.getTime());
}
