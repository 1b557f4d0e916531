import type { X509Certificate } from 'node:crypto';
import type { StoredFiles } from './certificate-files.ts';
import { inspectPair, invalidAt, parseCertificates, uncoveredNames } from './inspect.ts';

/** A third of the serving certificate's 90 days. */
export const SERVING_LOOKAHEAD_MS = 30 * 86_400_000;

/**
 * Why there has to be a new CA, or undefined if the stored one serves. One that is not valid yet does: the clock is wrong, and
 * will be right again. One that expires soon does, too: with it, every `caBundle` has to change.
 */
export function caFault({ caCert, caKey }: StoredFiles, now: Date): string | undefined {
  if (caCert === undefined || caKey === undefined) return 'there was none';
  const inspection = inspectPair({ cert: caCert, key: caKey });
  if (!inspection.ok) return inspection.reason;
  return now < inspection.certificate.validFromDate ? undefined : invalidAt(inspection.certificate, now);
}

/** Why there has to be a new serving certificate within `lookaheadMs`, or undefined if the stored one serves. */
export function servingFault(
  { cert, key, caCert }: StoredFiles,
  names: readonly string[],
  now: Date,
  lookaheadMs: number,
): string | undefined {
  if (cert === undefined || key === undefined) return 'there was none';
  const inspection = inspectPair({ cert, key });
  if (!inspection.ok) return inspection.reason;

  const { certificate } = inspection;
  const ca = signerOf(certificate, caCert);
  if (ca === undefined) return 'not signed by the CA';
  const uncovered = uncoveredNames(certificate, names);
  if (uncovered.length > 0) return `not for ${uncovered.join(', ')}`;
  // None outlives its CA: one that lasts as long as that need not be renewed.
  const soon = new Date(Math.min(now.getTime() + lookaheadMs, ca.validToDate.getTime() - 1));
  return invalidAt(certificate, now) ?? invalidAt(certificate, soon);
}

/** Which of the certificates in a bundle has signed this one; cert-manager leaves `ca.crt` empty where it does not know. */
export function signerOf(certificate: X509Certificate, bundle: string | undefined): X509Certificate | undefined {
  return parseCertificates(bundle ?? '').find((ca) => certificate.verify(ca.publicKey));
}
