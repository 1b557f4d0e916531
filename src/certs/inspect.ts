import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP, isIPv6, SocketAddress } from 'node:net';
import { createSecureContext, type PeerCertificate } from 'node:tls';
import { messageOf } from '../runtime/error-message.ts';
import type { StoredFiles } from './certificate-files.ts';

/** A readable pair, or why it cannot be used. */
export type PairInspection =
  | { readonly ok: true; readonly certificate: X509Certificate }
  | { readonly ok: false; readonly reason: string };

/** Reads a pair, and checks that the key belongs to the (first) certificate and that TLS accepts them. */
export function inspectPair({ cert, key }: Pick<StoredFiles, 'cert' | 'key'>): PairInspection {
  if (cert === undefined || key === undefined) return { ok: false, reason: 'not found' };
  try {
    const certificate = new X509Certificate(cert);
    if (!certificate.checkPrivateKey(createPrivateKey(key))) {
      return { ok: false, reason: 'the private key does not belong to the certificate' };
    }
    // TLS refuses more than the parsers do: broken intermediates, keys that are too short.
    createSecureContext({ cert, key });
    return { ok: true, certificate };
  } catch (error) {
    return { ok: false, reason: `not a usable PEM certificate and private key: ${messageOf(error)}` };
  }
}

/**
 * Why the certificate is not valid at that time, or undefined if it is. With a time in the future, this says whether a renewal is due.
 */
export function invalidAt(certificate: X509Certificate, time: Date): string | undefined {
  if (time < certificate.validFromDate) return `not valid before ${certificate.validFromDate.toISOString()}`;
  if (time >= certificate.validToDate) return `not valid after ${certificate.validToDate.toISOString()}`;
  return undefined;
}

/**
 * The DNS names and IP addresses that the certificate is not for, by the rule of its clients, which are programs in Go (`VerifyHostname` of crypto/x509):
 * only the subjectAltName counts, never the Common Name, and `*` stands for the whole first label. An address with a zone (`fe80::1%eth0`) matches nothing.
 * OpenSSL is stricter than Go for names that no Service has: `*` directly above the last label, labels with `_`, and a dot at the end.
 */
export function uncoveredNames(certificate: X509Certificate, names: readonly string[]): string[] {
  return names.filter((name) =>
    isIP(name) && !name.includes('%') ? !certificate.checkIP(name) : !certificate.checkHost(name, DNS_NAMES_AS_IN_GO),
  );
}

const DNS_NAMES_AS_IN_GO = { subject: 'never', partialWildcards: false } as const;

/**
 * The option `checkServerIdentity` of `node:tls` by the rule of {@link uncoveredNames}. By default, Node.js also accepts the Common Name.
 * @returns why the certificate is refused; undefined if it is for the name
 */
export function checkServerIdentity(name: string, { raw }: Pick<PeerCertificate, 'raw'>): Error | undefined {
  const certificate = new X509Certificate(raw);
  if (uncoveredNames(certificate, [name]).length === 0) return undefined;
  return new Error(`the certificate is not for ${name}, but for ${namesText(certificate)}`);
}

/** The DNS names and IP addresses of the certificate, with addresses in their short form (`::1`). */
export function namesOf({ subjectAltName = '' }: X509Certificate): string[] {
  return (
    subjectAltName
      .split(', ')
      .map((entry) => /^(?:DNS|IP Address):(.*)$/.exec(entry)?.[1])
      .filter((name) => name !== undefined)
      // Node.js prints it as 0:0:0:0:0:0:0:1.
      .map((name) => (isIPv6(name) ? new SocketAddress({ address: name, family: 'ipv6' }).address : name))
  );
}

/** {@link namesOf} as text. */
export function namesText(certificate: X509Certificate): string {
  return namesOf(certificate).join(', ') || 'no name at all';
}

/** The certificates of a PEM text, in order. Unreadable ones are left out. */
export function parseCertificates(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}

/** The SHA-256 fingerprints of the certificates of a PEM text. */
export function fingerprints(pem: string): string[] {
  return parseCertificates(pem).map(({ fingerprint256 }) => fingerprint256);
}

/** Whether a bundle (PEM) has the CA. */
export function hasCa(bundle: string, { fingerprint256 }: X509Certificate): boolean {
  return fingerprints(bundle).includes(fingerprint256);
}

/** One bundle of all the certificates of several PEM texts, each once. Undefined if there is none. */
export function joinBundles(...bundles: readonly (string | undefined)[]): string | undefined {
  const [first, ...others] = bundles.filter((bundle) => bundle !== undefined);
  if (first === undefined) return undefined;
  const known = new Set(fingerprints(first));
  const added = others.flatMap(parseCertificates).filter(({ fingerprint256 }) => {
    const isNew = !known.has(fingerprint256);
    known.add(fingerprint256);
    return isNew;
  });
  // In its given form, so that a change of form alone causes no write.
  return added.length === 0 ? first : [first.trimEnd(), ...added.map((ca) => ca.toString().trimEnd()), ''].join('\n');
}

/** A serving certificate that expires within this time is reported: it is renewed when a third of its life is left. */
export const EXPIRES_SOON_MS = 14 * 86_400_000;

/** A CA that ends within this time is replaced, or reported if taintkeeper does not replace it. */
export const CA_LOOKAHEAD_MS = 365 * 86_400_000;

/** A third of the serving certificate's 90 days. */
export const SERVING_LOOKAHEAD_MS = 30 * 86_400_000;

/**
 * Why a new CA is needed; undefined if the stored one can be used. A CA that is not valid yet can be used, because the clock is wrong for a time. So
 * can one that expires soon, because with a new one every `caBundle` must change.
 */
export function caFault({ caCert, caKey }: StoredFiles, now: Date): string | undefined {
  const inspection = inspectPair({ cert: caCert, key: caKey });
  if (!inspection.ok) return inspection.reason;
  return now < inspection.certificate.validFromDate ? undefined : invalidAt(inspection.certificate, now);
}

/** Why a certificate is not valid yet, as text. */
export const FUTURE_CAUSE = 'a clock was ahead when it was issued';

/** That the CA that issues, the first one of the bundle, is not valid yet: a clock was ahead when it was issued. Undefined if it is valid. */
export function notValidYet(bundle: string | undefined, now: Date): string | undefined {
  const [ca] = parseCertificates(bundle ?? '');
  return ca && now < ca.validFromDate ? invalidAt(ca, now) : undefined;
}

/** Why the serving certificate cannot be replaced on request. */
export type RotationObstacle =
  /** Another issuer issued the certificates. */
  | { readonly kind: 'otherIssuer' }
  | { readonly kind: 'ca'; readonly reason: string }
  /** The certificate is not for these names: it may be that of another installation. */
  | { readonly kind: 'names'; readonly uncovered: readonly string[] };

/** Undefined if `taintkeeper certs rotate` can replace the serving certificate, also one that has expired. */
export function rotationObstacle(
  files: StoredFiles,
  names: readonly string[],
  now: Date,
): RotationObstacle | undefined {
  if (files.cert !== undefined && files.caKey === undefined) return { kind: 'otherIssuer' };
  const reason = caFault(files, now);
  if (reason !== undefined) return { kind: 'ca', reason };
  const [serving] = parseCertificates(files.cert ?? '');
  const uncovered = serving ? uncoveredNames(serving, names) : [];
  return uncovered.length > 0 ? { kind: 'names', uncovered } : undefined;
}

/** Why a new serving certificate is needed within `lookaheadMs`; undefined if the stored one can be used. */
export function servingFault(
  files: StoredFiles,
  names: readonly string[],
  now: Date,
  lookaheadMs: number,
): string | undefined {
  const inspection = inspectPair(files);
  if (!inspection.ok) return inspection.reason;

  const { certificate } = inspection;
  const ca = signerOf(certificate, files.caCert);
  if (ca === undefined) return NOT_SIGNED;
  const unfit = notFor(uncoveredNames(certificate, names));
  if (unfit !== undefined) return unfit;
  // No certificate outlives its CA: one that is valid as long as its CA need not be renewed.
  const soon = new Date(Math.min(now.getTime() + lookaheadMs, ca.validToDate.getTime() - 1));
  return invalidAt(certificate, now) ?? invalidAt(certificate, soon);
}

/**
 * Why certificates of another issuer cannot be served; undefined if they can. They may come without the CA. With one, they have to lead to it: of an
 * intermediate CA, the file `tls.crt` has the certificate as well.
 */
export function suppliedFault(files: StoredFiles, names: readonly string[], now: Date): string | undefined {
  const inspection = inspectPair(files);
  if (!inspection.ok) return inspection.reason;
  return chainFault(files.cert ?? '', files.caCert, uncoveredNames(inspection.certificate, names), now);
}

/**
 * Why clients that trust a bundle (PEM), or the system's CAs if it has none, refuse a chain of certificates (PEM).
 * @param uncovered the names by which they call, and that the first certificate does not have
 */
export function chainFault(
  chain: string,
  bundle: string | undefined,
  uncovered: readonly string[],
  time: Date,
): string | undefined {
  const certificates = parseCertificates(chain);
  const cas = parseCertificates(bundle ?? '');
  if (cas.length > 0 && !leadsTo(certificates, cas)) return NOT_SIGNED;
  return notFor(uncovered) ?? anyInvalidAt(certificates, cas, time);
}

function notFor(uncovered: readonly string[]): string | undefined {
  return uncovered.length > 0 ? `not for ${uncovered.join(', ')}` : undefined;
}

/**
 * Whether the first certificate leads to one of the CAs, by the others of its chain in any order. Only signatures are checked, and neither the names nor
 * the validity of a certificate.
 */
function leadsTo(chain: readonly X509Certificate[], cas: readonly X509Certificate[]): boolean {
  return pathTo(chain, cas) !== undefined;
}

/** The certificates from the first one of the chain to a CA, with both. Undefined if it leads to none. */
function pathTo(
  chain: readonly X509Certificate[],
  cas: readonly X509Certificate[],
): readonly X509Certificate[] | undefined {
  const [leaf, ...others] = chain;
  const path: X509Certificate[] = [];
  let current = leaf;
  while (current !== undefined && path.length < chain.length) {
    const certificate = current;
    path.push(certificate);
    const ca = cas.find(
      (one) => one.fingerprint256 === certificate.fingerprint256 || certificate.verify(one.publicKey),
    );
    if (ca) return [...path, ca];
    current = others.find((other) => certificate.checkIssued(other) && certificate.verify(other.publicKey));
  }
  return undefined;
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
 * {@link invalidAt} of a certificate, the first one of a chain (PEM), and of its issuers up to a CA of the bundle (PEM), if they are known: clients refuse
 * a certificate of a CA that is not valid.
 */
export function chainInvalidAt(chain: string, bundle: string | undefined, time: Date): string | undefined {
  return anyInvalidAt(parseCertificates(chain), parseCertificates(bundle ?? ''), time);
}

function anyInvalidAt(
  chain: readonly X509Certificate[],
  cas: readonly X509Certificate[],
  time: Date,
): string | undefined {
  const [leaf] = chain;
  return (leaf && invalidAt(leaf, time)) ?? issuersInvalidAt(chain, cas, time);
}

const NOT_SIGNED = 'not signed by the CA';

/** The certificate in a bundle (PEM) that signed this one. cert-manager leaves `ca.crt` empty if it does not know the CA. */
export function signerOf(certificate: X509Certificate, bundle: string | undefined): X509Certificate | undefined {
  return lastingFirst(bundle).find((ca) => certificate.verify(ca.publicKey));
}

/** The certificate in a bundle (PEM) to which the chain leads, by intermediate CAs or without. */
export function caOf(chain: readonly X509Certificate[], bundle: string | undefined): X509Certificate | undefined {
  return pathTo(chain, lastingFirst(bundle))?.at(-1);
}

/** The certificates of a bundle, the one that lasts longest first: a CA may have been renewed with its key. */
function lastingFirst(bundle = ''): X509Certificate[] {
  return parseCertificates(bundle).toSorted((a, b) => b.validToDate.getTime() - a.validToDate.getTime());
}
