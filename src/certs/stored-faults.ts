import { parseCertificates } from './bundle.ts';
import { notFor, uncoveredNames } from './certificate-names.ts';
import { chainFault, NOT_SIGNED, signerOf } from './chain.ts';
import { inspectPair, invalidAt } from './inspect.ts';
import type { StoredFiles } from './stored-files.ts';

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
export function caFault({ bundle, caKey }: StoredFiles, now: Date): string | undefined {
  const inspection = inspectPair({ cert: bundle, key: caKey });
  if (!inspection.ok) return inspection.reason;
  return now < inspection.certificate.validFromDate ? undefined : invalidAt(inspection.certificate, now);
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
  const ca = signerOf(certificate, parseCertificates(files.bundle));
  if (ca === undefined) return NOT_SIGNED;
  const unfit = notFor(uncoveredNames(certificate, names));
  if (unfit !== undefined) return unfit;
  // No certificate outlives its CA: one that is valid as long as its CA need not be renewed.
  const soon = new Date(Math.min(now.getTime() + lookaheadMs, ca.validToDate.getTime() - 1));
  return invalidAt(certificate, now) ?? invalidAt(certificate, soon);
}

/** Why the files cannot be used now; undefined if they can be served and renewed. */
export function certificateFault(stored: StoredFiles, names: readonly string[], now: Date): string | undefined {
  return caFault(stored, now) ?? servingFault(stored, names, now, 0);
}

/**
 * Why certificates of another issuer cannot be served; undefined if they can. They may come without the CA. With one, they have to lead to it: of an
 * intermediate CA, the file `tls.crt` has the certificate as well.
 */
export function otherIssuerFault(files: StoredFiles, names: readonly string[], now: Date): string | undefined {
  const inspection = inspectPair(files);
  if (!inspection.ok) return inspection.reason;
  const uncovered = uncoveredNames(inspection.certificate, names);
  return chainFault(parseCertificates(files.cert), parseCertificates(files.bundle), uncovered, now);
}

/** Why a certificate is not valid yet, as text. */
export const FUTURE_CAUSE = 'a clock was ahead when it was issued';

/** That the CA that issues, the first one of the bundle, is not valid yet: a clock was ahead when it was issued. Undefined if it is valid. */
export function notValidYet(bundle: string | undefined, now: Date): string | undefined {
  const [ca] = parseCertificates(bundle);
  return ca && now < ca.validFromDate ? invalidAt(ca, now) : undefined;
}
