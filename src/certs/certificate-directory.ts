import type { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { reasonOf } from '../files/text-files.ts';
import { parseCertificates } from './bundle.ts';
import { CertificateDirectoryError, keepOld, readStored, store } from './certificate-files.ts';
import { namesOf, uncoveredNames } from './certificate-names.ts';
import { caOf, signerOf } from './chain.ts';
import { withDirectoryLock } from './directory-lock.ts';
import { inspectPair } from './inspect.ts';
import { isIssuedByUs, issueCa, issueServing } from './issue.ts';
import { type ServableCertificates, servableOf } from './servable-certificates.ts';
import { caFault, SERVING_LOOKAHEAD_MS, servingFault } from './stored-faults.ts';
import { type CompleteFiles, FILES, type StoredFiles } from './stored-files.ts';

/** Names of a webhook on the same machine: every certificate that taintkeeper issues has them. */
const LOCAL_NAMES = ['localhost', '127.0.0.1', '::1'];

/** The certificates of a directory that was opened, and the result of that. */
export interface OpenedCertificates extends ServableCertificates {
  /** What was issued, and why. Empty if nothing was. */
  readonly issued: readonly string[];
  /** Why a due renewal failed. The pair can still be served. */
  readonly fault?: string;
}

/**
 * What may be issued. A new CA makes every `caBundle` wrong, so none is issued while the program runs. Nothing is issued if the files come from
 * another issuer.
 */
export type Issuing = 'caAndServing' | 'servingOnly' | 'none';

/**
 * Opens the directory. Issues what is missing, unusable, expires soon, or lacks a name. Many processes may do so at the same time: one of them
 * issues, and the others use the result.
 *
 * A serving pair without `ca.key` beside it, or from another issuer (cert-manager, or the operator), is used as it is, and nothing is written.
 * A pair of taintkeeper's own CA that is still valid is also used if it cannot be renewed, because the disk is full or read-only.
 * @param names DNS names and IP addresses, besides those of the machine itself
 * @throws CertificateDirectoryError also if there is a problem that issuing must not hide
 */
export async function openCertificates(
  directory: string,
  names: readonly string[],
  now: Date,
  issuing: Issuing = 'caAndServing',
): Promise<OpenedCertificates> {
  const stored = await readStored(directory);
  if (isLeftToOtherIssuer(stored, issuing)) return useOfAnotherIssuer(directory, stored, names);
  if (caFault(stored, now) === undefined && ownServingFault(stored, names, now) === undefined)
    return { ...servableOf(stored as CompleteFiles, 'serving'), issued: [] };
  if (issuing === 'none') {
    throw new CertificateDirectoryError(
      `${directory} no longer has ${FILES.cert} and ${FILES.key} from another issuer: restore them, or restart to have taintkeeper issue its own`,
    );
  }
  try {
    return await withDirectoryLock(directory, async () => {
      const latest = await readStored(directory);
      return isLeftToOtherIssuer(latest, issuing)
        ? useOfAnotherIssuer(directory, latest, names)
        : await renew(directory, latest, names, now, issuing);
    });
  } catch (error) {
    const fault =
      error instanceof CertificateDirectoryError
        ? error
        : new CertificateDirectoryError(`cannot renew the certificates in ${directory}: ${reasonOf(error)}`);
    if (caFault(stored, now) ?? servingFault(stored, [...LOCAL_NAMES, ...names], now, 0)) throw fault;
    return { ...servableOf(stored as CompleteFiles, 'serving'), issued: [], fault: fault.message };
  }
}

/**
 * Whether taintkeeper issues nothing for the pair, because it comes from another issuer. At the start, every pair without a CA key counts as such. While
 * the program runs, a missing CA key of our own pair was lost.
 */
function isLeftToOtherIssuer({ cert, key, bundle, caKey }: StoredFiles, issuing: Issuing): boolean {
  if (cert === undefined || key === undefined) return false;
  const [certificate] = parseCertificates(cert);
  const isOurs = certificate !== undefined && isSignedByOurOrStoredCa(certificate, parseCertificates(bundle));
  return caKey === undefined ? !(isOurs && issuing === 'servingOnly') : certificate !== undefined && !isOurs;
}

/** Whether a CA of taintkeeper, or the CA beside it, issued the certificate. The pair's key is not checked: it may be written next. */
function isSignedByOurOrStoredCa(certificate: X509Certificate, cas: readonly X509Certificate[]): boolean {
  return isIssuedByUs(certificate) || signerOf(certificate, cas) !== undefined;
}

function useOfAnotherIssuer(
  directory: string,
  { cert = '', key = '', bundle }: StoredFiles,
  names: readonly string[],
): OpenedCertificates {
  const inspection = inspectPair({ cert, key });
  if (!inspection.ok) {
    throw new CertificateDirectoryError(`${join(directory, FILES.cert)} and ${FILES.key}: ${inspection.reason}`);
  }
  const { certificate } = inspection;
  const uncovered = uncoveredNames(certificate, names);
  const cas = parseCertificates(bundle);
  const ca = caOf(parseCertificates(cert), cas);
  const known = cas.length > 0 ? bundle : undefined;
  return { serving: { cert, key }, certificate, ca, bundle: known, renews: 'nothing', uncovered, issued: [] };
}

async function renew(
  directory: string,
  stored: StoredFiles,
  names: readonly string[],
  now: Date,
  issuing: Issuing,
): Promise<OpenedCertificates> {
  const issued: string[] = [];
  let { bundle = '', caKey = '', cert = '', key = '' } = stored;

  const caReason = caFault(stored, now);
  if (caReason !== undefined) {
    if (issuing !== 'caAndServing') {
      throw new CertificateDirectoryError(
        `the CA in ${directory} is not usable (${caReason}): restore ${FILES.bundle} and ${FILES.caKey}, or remove all four files and restart to get a new one, which then belongs in every caBundle`,
      );
    }
    const ca = await issueCa(now);
    issued.push(`CA (${caReason}): ${join(directory, FILES.bundle)} belongs in every caBundle`);
    // The serving pair is deleted first: after an interruption, none is left that looks like one of another issuer.
    await keepOld(directory, [FILES.cert, FILES.key, FILES.bundle, FILES.caKey]);
    await store(directory, { [FILES.bundle]: ca.cert, [FILES.caKey]: ca.key });
    bundle = ca.cert;
    caKey = ca.key;
  }

  const reason = ownServingFault({ ...stored, bundle, caKey }, names, now);
  if (reason !== undefined) {
    // The existing names are kept, so that two programs on one directory with different names do not replace each other's certificates.
    const all = [...new Set([...LOCAL_NAMES, ...names, ...namesIn(stored)])];
    ({ cert, key } = await issueServing({ cert: bundle, key: caKey }, all, now));
    const stillWrong = ownServingFault({ bundle, caKey, cert, key }, names, now);
    if (stillWrong) throw new CertificateDirectoryError(`cannot issue a serving certificate: ${stillWrong}`);
    issued.push(`serving certificate (${reason})`);
    await store(directory, { [FILES.cert]: cert, [FILES.key]: key });
  }
  return { ...servableOf({ bundle, caKey, cert, key }, 'serving'), issued };
}

function ownServingFault(stored: StoredFiles, names: readonly string[], now: Date): string | undefined {
  return servingFault(stored, [...LOCAL_NAMES, ...names], now, SERVING_LOOKAHEAD_MS);
}

function namesIn(stored: StoredFiles): string[] {
  const inspection = inspectPair(stored);
  return inspection.ok ? namesOf(inspection.certificate) : [];
}
