import type { X509Certificate } from 'node:crypto';
import { hasCa, parseCertificates } from './bundle.ts';
import { namesOf } from './certificate-names.ts';
import { issuersInvalidAt, isTrusted, signerOf } from './chain.ts';
import { subjectOf } from './distinguished-name.ts';
import {
  certificateFault,
  FUTURE_CAUSE,
  notValidYet,
  otherIssuerFault,
  SERVING_LOOKAHEAD_MS,
  servingFault,
} from './stored-faults.ts';
import { isFromAnotherIssuer, type StoredFiles } from './stored-files.ts';

/** A registered `caBundle`. */
export interface RegisteredBundle {
  readonly webhook: string;
  /** PEM; empty if there is none. */
  readonly bundle: string;
}

/**
 * Whom a webhook trusts: every stored CA, at least that of the serving certificate, or neither, also if the CA is not valid. Certificates of another issuer may come without a CA: if
 * there is no `caBundle` either, the API server trusts the CAs of its own system, which are not known here.
 */
export type Trust = 'all' | 'the serving CA' | 'neither' | "the API server's own CAs";

export interface CertificateReport {
  readonly certificates: readonly {
    readonly role: 'CA' | 'earlier CA' | 'serving';
    readonly subject: string;
    readonly names: readonly string[];
    readonly expires: string;
  }[];
  readonly webhooks: readonly { readonly webhook: string; readonly trusts: Trust }[];
  /** taintkeeper renews with the key of the CA, which certificates of another issuer come without. */
  readonly renewedBy: 'taintkeeper' | 'another issuer';
  /** Each problem, as text. */
  readonly problems: readonly string[];
  /** What a rotation in progress waits for, as text. Undefined if none is in progress. */
  readonly rotating: string | undefined;
}

/** A report about stored certificates and the bundles by which the API server trusts them. */
export function reportCertificates(
  files: StoredFiles,
  bundles: readonly RegisteredBundle[],
  names: readonly string[],
  now: Date,
): CertificateReport {
  const cas = parseCertificates(files.bundle);
  const chain = parseCertificates(files.cert);
  const [serving] = chain;
  const isOtherIssuer = isFromAnotherIssuer(files);
  const isBundleNeeded = !isOtherIssuer || cas.length > 0;
  const judged = bundles.map(({ webhook, bundle }) => ({
    webhook,
    trusts: bundle === '' && !isBundleNeeded ? ("the API server's own CAs" as const) : trust(bundle, cas, chain, now),
    invalid: issuersInvalidAt(chain, parseCertificates(bundle), now),
  }));
  const fault = isOtherIssuer ? otherIssuerFault(files, names, now) : certificateFault(files, names, now);
  // Of another issuer, the fault says so.
  const future = isOtherIssuer ? undefined : notValidYet(files.bundle, now);
  // When another issuer renews is not known here.
  const due = fault ?? (isOtherIssuer ? undefined : servingFault(files, names, now, SERVING_LOOKAHEAD_MS));
  return {
    certificates: [
      ...cas.map((ca, index) => describe(index === 0 ? 'CA' : 'earlier CA', ca)),
      ...(serving ? [describe('serving', serving)] : []),
    ],
    webhooks: judged.map(({ webhook, trusts }) => ({ webhook, trusts })),
    renewedBy: isOtherIssuer ? 'another issuer' : 'taintkeeper',
    problems: [
      ...(fault === undefined ? [] : [`the certificates are not usable: ${fault}`]),
      ...(future === undefined ? [] : [`the CA is ${future}: ${FUTURE_CAUSE}`]),
      ...(fault === undefined && due !== undefined ? [`the serving certificate should have been renewed: ${due}`] : []),
      ...judged
        .filter(({ trusts }) => trusts === 'neither')
        .map(
          ({ webhook, invalid }) =>
            `the caBundle of ${webhook} does not trust the serving certificate${invalid ? `: ${invalid}` : ''}`,
        ),
    ],
    rotating: rotation(serving, cas),
  };
}

function rotation(serving: X509Certificate | undefined, cas: readonly X509Certificate[]): string | undefined {
  const [issuer, ...earlier] = cas;
  if (!serving || !issuer || earlier.length === 0 || signerOf(serving, cas) === undefined) return undefined;
  return serving.verify(issuer.publicKey)
    ? 'the earlier CA is removed from the bundle after its overlap'
    : 'the serving certificate is replaced when every caBundle has the new CA';
}

function trust(bundle: string, cas: readonly X509Certificate[], chain: readonly X509Certificate[], now: Date): Trust {
  if (!isTrusted(chain, parseCertificates(bundle), now)) return 'neither';
  return cas.length > 0 && cas.every((ca) => hasCa(bundle, ca)) ? 'all' : 'the serving CA';
}

function describe(role: CertificateReport['certificates'][number]['role'], certificate: X509Certificate) {
  return {
    role,
    subject: subjectOf(certificate),
    names: role === 'serving' ? namesOf(certificate) : [],
    expires: certificate.validToDate.toISOString(),
  };
}
